// One tool of the list: a link, its summary, and why a search found it.

import type { JSX } from "preact";
import { useId } from "preact/hooks";

import { Effect, SafeText, Tier } from "../../components";
import { href } from "../../router";
import { type Row, strongestTerms } from "./rows";
import { Why } from "./why";

const SHOWN_TERMS = 4;

export interface ToolRowProps {
  row: Row;
  /** How the terms of the search are shown. */
  labels: Map<string, string>;
  isOpen: boolean;
  onToggle: () => void;
}

export function ToolRow({ row: { tool, hit, heading }, labels, isOpen, onToggle }: ToolRowProps): JSX.Element {
  const id = useId();
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
        {hit && hit.terms.length > 0 && <span class="terms">{strongestTerms(hit, labels, SHOWN_TERMS).join(" · ")}</span>}
        <span class="tool-badges">
          {tool.effect !== "read" && <Effect effect={tool.effect} />}
          <Tier tier={tool.tier} />
          {hit && (
            <button type="button" class="why-button" aria-expanded={isOpen} aria-controls={isOpen ? id : undefined} aria-label={`Why ${tool.name} was found`} onClick={onToggle}>
              why
            </button>
          )}
        </span>
      </div>
      {hit && isOpen && <Why hit={hit} id={id} labels={labels} />}
    </div>
  );
}
