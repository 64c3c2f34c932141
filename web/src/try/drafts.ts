// What a person has written and called, tool by tool, until the page is closed: they look at another view and return.
// Keys are not part of it; those are in state.ts.

import type { Answered } from "./call";
import type { Value } from "./form-values";

export type CallOptions = { maxTokens: string; fresh: boolean };

export type Draft = {
  values: Value;
  /** The arguments as JSON, and whether they are written so. */
  text: string;
  isText: boolean;
  options: CallOptions;
  select: string;
  /** The chosen form of the answer. */
  tab: string;
  answered: Answered | null;
};

/** Tools that are remembered: an answer may have megabytes. */
const MAX_DRAFTS = 10;

const drafts = new Map<string, Draft>();

/** Return the draft of a tool of a catalog, or undefined. */
export function recallDraft(catalog: string, tool: string): Draft | undefined {
  return drafts.get(`${catalog} ${tool}`);
}

export function rememberDraft(catalog: string, tool: string, draft: Draft): void {
  const key = `${catalog} ${tool}`;
  drafts.delete(key);
  drafts.set(key, draft);
  const [oldest] = drafts.keys();
  if (drafts.size > MAX_DRAFTS && oldest !== undefined) drafts.delete(oldest);
}
