// The calls and requests of Watch: what runs on top, then what ended, newest first.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

import { Badge, Bar, Button, Empty, Field, TimeOfDay, formatSeconds, useNow } from "../../components";
import { formatCount, formatMs, formatNumber } from "../../format";
import { href } from "../../router";
import { SafeText } from "../../try/safe-text";
import { type Feed, type Filter, NO_FILTER, type Row, filterRows } from "./feed";

// Rows that are drawn; a filter finds older ones.
const SHOWN_ROWS = 100;

const ORIGINS: Record<string, string> = {
  memory: "memory",
  shared: "shared cache",
  joined: "an equal call",
  stale: "cache, past its time",
  miss: "source",
  bypass: "source",
};

export function WatchTable({ feed, isLive }: { feed: Feed; isLive: boolean }): JSX.Element {
  const filter = useSignal<Filter>(NO_FILTER);
  const rows = filterRows(feed.rows, filter.value);
  const all = filterRows(feed.rows, NO_FILTER).length;
  const running = feed.latest?.running ?? [];
  const shown = rows.slice(0, SHOWN_ROWS);
  const slowest = Math.max(1, ...shown.map((row) => row.ms));
  return (
    <section class="section" aria-labelledby="watch-calls">
      <h2 id="watch-calls">Calls and requests</h2>
      <FilterBar filter={filter.value} rows={feed.rows} onChange={(changed) => (filter.value = { ...filter.value, ...changed })} />
      {feed.rows.length === 0 && running.length === 0 ? (
        <NothingYet />
      ) : (
        <div class="scroll-x" role="region" aria-label="Table of calls and requests" tabIndex={0}>
          <table class="watch-table">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Name</th>
                <th scope="col">Outcome</th>
                <th scope="col" class="number">Duration</th>
                <th scope="col">Answered from</th>
                <th scope="col" class="number">Tokens</th>
                <th scope="col" class="number">Saved</th>
              </tr>
            </thead>
            <tbody>
              {running.map((call) => (
                <RunningRow key={call.id} tool={call.tool} ms={call.ms} receivedAt={feed.receivedAt} isLive={isLive} />
              ))}
              {shown.map((row) => (
                <FinishedRow key={row.key} row={row} slowest={slowest} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {feed.rows.length > 0 && <Count shown={shown.length} found={rows.length} all={all} onReset={() => (filter.value = NO_FILTER)} />}
    </section>
  );
}

function RunningRow({ tool, ms, receivedAt, isLive }: { tool: string; ms: number; receivedAt: number; isLive: boolean }): JSX.Element {
  const now = useNow();
  const since = isLive ? Math.max(0, now - receivedAt) : 0;
  return (
    <tr class="running">
      <td>now</td>
      <td class="name">
        <SafeText text={tool} />
      </td>
      <td>
        <Badge kind="accent">running</Badge>
      </td>
      <td class="number">{formatSeconds((ms + since) / 1000)}</td>
      <td colSpan={3} />
    </tr>
  );
}

function FinishedRow({ row, slowest }: { row: Row; slowest: number }): JSX.Element {
  return (
    <tr class={row.kind}>
      <td>
        <TimeOfDay time={row.time} />
      </td>
      <td class="name">
        {row.kind === "call" ? (
          <a href={href("tool", row.name)}>
            <SafeText text={row.name} />
          </a>
        ) : (
          <SafeText text={row.name} />
        )}{" "}
        <span class="kind">
          {row.kind}
          {row.profile && ` at ${row.profile}`}
        </span>
      </td>
      <td>
        {row.code === "OK" ? "OK" : <Badge kind="bad">{row.code}</Badge>}
      </td>
      <td class="number duration" title={row.upstreamMs === null ? undefined : `${formatMs(row.upstreamMs)} of it in the source`}>
        {formatMs(row.ms)} <Bar share={row.ms / slowest} />
      </td>
      <td>{row.code === "OK" ? (ORIGINS[row.cache] ?? row.cache) : ""}</td>
      <td class="number">{row.tokens === null ? "" : formatNumber(row.tokens)}</td>
      <td class="number">{row.saved ? formatNumber(row.saved) : ""}</td>
    </tr>
  );
}

function FilterBar({ filter, rows, onChange }: { filter: Filter; rows: Row[]; onChange: (changed: Partial<Filter>) => void }): JSX.Element {
  const codes = [...new Set(rows.map((row) => row.code))].sort();
  // A chosen code stays in the list when the rows that had it are gone.
  if (!["", "errors", ...codes].includes(filter.outcome)) codes.push(filter.outcome);
  return (
    <form class="filter-bar" role="search" aria-label="Filter of calls and requests" onSubmit={(event) => event.preventDefault()}>
      <Field label="Tool">
        {(ids) => <input {...ids} type="search" value={filter.name} placeholder="part of a name" onInput={(event) => onChange({ name: event.currentTarget.value })} />}
      </Field>
      <Field label="Outcome">
        {(ids) => (
          <select {...ids} value={filter.outcome} onChange={(event) => onChange({ outcome: event.currentTarget.value })}>
            <option value="">all</option>
            <option value="errors">errors</option>
            {codes.map((code) => (
              <option key={code} value={code}>
                {code}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Show">
        {(ids) => (
          <select {...ids} value={filter.kind} onChange={(event) => onChange({ kind: event.currentTarget.value as Filter["kind"] })}>
            <option value="">calls, searches, descriptions</option>
            <option value="all">all calls and requests</option>
            <option value="call">calls of tools</option>
            <option value="request">requests of clients</option>
          </select>
        )}
      </Field>
    </form>
  );
}

function Count({ shown, found, all, onReset }: { shown: number; found: number; all: number; onReset: () => void }): JSX.Element {
  if (found === 0)
    return (
      <p class="hint">
        None of {formatNumber(all)} passes the filter. <Button onClick={onReset}>Show all</Button>
      </p>
    );
  return (
    <p class="hint">
      {shown < found ? `The latest ${formatNumber(shown)} of ${formatCount(found, "row")}` : formatCount(found, "row")}. Durations are those of the server.
    </p>
  );
}

function NothingYet(): JSX.Element {
  return (
    <Empty title="No client has called anything yet.">
      <p>
        <a href={href("start")}>Connect a client</a>, or <a href={href("try")}>try a tool</a>: its calls appear here.
      </p>
    </Empty>
  );
}
