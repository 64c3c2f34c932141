// The one figure of the page: tokens of the definitions here, against those of every tool.

import type { JSX } from "preact";

import type { Start } from "../../api-types";
import { formatCount, formatNumber, formatPercent } from "../../format";

export function SavedTokens({ tokens, tools, seen }: { tokens: Start["tokens"]; tools: number; seen: number | undefined }): JSX.Element | null {
  if (tokens.all_definitions <= 0) return null; // the catalog was compiled without them
  const saves = tokens.definitions < tokens.all_definitions;
  return (
    <section class="section saved" aria-labelledby="saved">
      <h2 id="saved">{saves ? "Tokens saved in every conversation" : "Tokens of the definitions"}</h2>
      {saves && (
        <p class="figure">
          <strong>{formatPercent(tokens.saved_percent)}</strong> <span class="soft">fewer tokens before the first word</span>
        </p>
      )}
      <dl class="bars">
        <Bar label={`All ${formatCount(tools, "definition")}`} value={tokens.all_definitions} most={Math.max(tokens.all_definitions, tokens.definitions)} />
        <Bar label={seen === undefined ? "Those of toolfold" : `The ${formatNumber(seen)} of toolfold`} value={tokens.definitions} most={Math.max(tokens.all_definitions, tokens.definitions)} accent />
      </dl>
      <p class="soft small">An estimate of what clients receive: the server has no tokenizer, and counts some 3 to 6 % more than o200k, in which the documentation counts.</p>
    </section>
  );
}

function Bar({ label, value, most, accent = false }: { label: string; value: number; most: number; accent?: boolean }): JSX.Element {
  const percent = most > 0 ? (100 * value) / most : 0;
  return (
    <div class="bar">
      <dt>{label}</dt>
      <dd>
        <svg class={accent ? "accent" : ""} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
          <rect class="track" width="100" height="4" />
          <rect class="value" width={Math.max(percent, value > 0 ? 0.6 : 0)} height="4" />
        </svg>
        <span class="number">{formatNumber(value)}</span>
      </dd>
    </div>
  );
}
