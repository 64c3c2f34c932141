// One tool of the list: a link, and its summary.

import type { JSX } from "preact";

import { Effect, SafeText, Tier } from "../../components";
import { href } from "../../router";
import type { Row } from "./rows";

export function ToolRow({ row: { tool, heading } }: { row: Row }): JSX.Element {
  return (
    <div class="tool-row">
      {heading && <h2>{heading}</h2>}
      <div class="tool-line">
        <a href={href("tool", tool.name)}>
          <SafeText text={tool.name} />
        </a>
        <span class="tool-summary">
          <SafeText text={tool.summary} />
        </span>
        <span class="tool-badges">
          {tool.effect !== "read" && <Effect effect={tool.effect} />}
          <Tier tier={tool.tier} />
        </span>
      </div>
    </div>
  );
}
