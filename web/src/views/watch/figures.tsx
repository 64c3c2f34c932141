// What the calls and requests of Watch add up to.

import type { JSX } from "preact";

import type { Watch } from "../../api-types";
import { Bar, TimeOfDay } from "../../components";
import { formatCount, formatNumber, formatPercent } from "../../format";
import { href } from "../../router";
import { SafeText } from "../../try/safe-text";
import { readFigure } from "./feed";

interface Meaning {
  name: string;
  label: string;
  meaning: string;
  format: (value: number) => string;
}

// The figures by which progressive loading is judged, as `toolfold stats` prints them.
const SEVEN: Meaning[] = [
  { name: "tokens_per_query", label: "tokens of a search", meaning: "What a model reads to find its tools, in the mean.", format: (value) => formatNumber(Math.round(value)) },
  { name: "token_reduction_percent", label: "less than all definitions", meaning: "Compared with a client that loads every tool.", format: formatPercent },
  { name: "full_per_query", label: "tools in full, a search", meaning: "With schema and example: ready to be called.", format: formatNumber },
  { name: "medium_per_query", label: "tools with parameters, a search", meaning: "The medium level: without an example.", format: formatNumber },
  { name: "minimal_per_query", label: "tools in one line, a search", meaning: "Name and summary; TOOL_GET has the rest.", format: formatNumber },
  { name: "loaded_on_demand", label: "schemas loaded on demand", meaning: "By TOOL_GET, after a search or without one.", format: formatNumber },
  { name: "cache_hit_percent", label: "answered from the cache", meaning: "Of the calls that read: no request to the source.", format: formatPercent },
];

export function WatchFigures({ answer: { figures, log } }: { answer: Watch }): JSX.Element {
  return (
    <section class="section" aria-labelledby="watch-figures">
      <h2 id="watch-figures">Figures</h2>
      <p class="hint">
        {describeLog(log)} {summarize(figures)}
      </p>
      <dl class="stats">
        {SEVEN.map(({ name, label, meaning, format }) => {
          const value = readFigure(figures, "figures", name);
          return (
            <div key={name} class="stat">
              <dt>{label}</dt>
              <dd class="stat-value">{value === null ? "–" : format(value)}</dd>
              <dd class="stat-meaning">{meaning}</dd>
            </div>
          );
        })}
      </dl>
    </section>
  );
}

/** How much of its calls of the day each source has left, where a limit is known. */
export function LimitsLeft({ limits }: { limits: Watch["limits"] }): JSX.Element {
  return (
    <section class="section" aria-labelledby="watch-limits">
      <h2 id="watch-limits">Limits left today</h2>
      {limits.length === 0 ? (
        <p class="hint">No source has reported or been given a limit.</p>
      ) : (
        <ul class="limits plain-list">
          {limits.map(({ source, used_percent: used }) => (
            <li key={source}>
              <SafeText text={source} />
              <span class="number">{formatPercent(Math.max(0, 100 - used))} left</span>
              <Bar share={1 - used / 100} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

export function EmptySearches({ searches }: { searches: Watch["empty_searches"] }): JSX.Element {
  return (
    <section class="section" aria-labelledby="watch-empty">
      <h2 id="watch-empty">Searches that found nothing</h2>
      {searches.length === 0 ? (
        <p class="hint">None.</p>
      ) : (
        <ul class="plain-list">
          {searches.map(({ time, query }, index) => (
            <li key={`${time} ${index}`}>
              <TimeOfDay time={time} />{" "}
              <a href={href("catalog", "", { q: query })}>
                <SafeText text={query} />
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function describeLog(log: Watch["log"]): string {
  if (!log) return "Of this process, since it was started.";
  const from = `Of this process, and of ${formatCount(log.lines, "line")} of ${log.file}`;
  if (log.problem) return `${from}. ${log.problem}`;
  return log.is_complete ? `${from}.` : `${from}, which is still being read.`;
}

function summarize(figures: Watch["figures"]): string {
  const count = (...path: string[]) => readFigure(figures, ...path) ?? 0;
  return [
    formatCount(count("searches", "total"), "search", "searches"),
    formatCount(count("calls", "total"), "call"),
    `${formatNumber(count("tokens", "answered"))} tokens answered`,
    `${formatNumber(count("tokens", "saved"))} saved`,
  ].join(", ")
    .concat(".");
}
