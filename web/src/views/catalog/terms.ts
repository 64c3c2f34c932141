// The terms of the index in words. The index has stems, such as "pric"; people read words. Pure.

import type { Catalog, Search } from "../../api-types";
import { findTool } from "../../catalog-data";

const FIELDS: Record<string, string> = {
  words: "words of the tool",
  its_name: "its name is in the request",
  part_of_request: "a part of the request",
  meaning: "near in meaning",
  action: "what the request wants done",
  kinds: "kind of name",
};

/** Return the name of a field of the index in words. */
export const fieldTitle = (field: string): string => FIELDS[field] ?? field.replaceAll("_", " ");

/** Return a kind of proper names in words: "@company" → "a company". */
const kindTitle = (term: string): string => `a ${term.slice(1).replaceAll("_", " ")}`;

// Tools whose texts are searched for the words of stems, and how much longer than its stem a word is.
const READ_HITS = 50;
const ENDING_CHARS = 4;

export interface Terms {
  /** Term of the index → how it is shown. */
  labels: Map<string, string>;
  /** Word of the query → what it was read as: corrected spellings, and proper names as what they name. */
  reread: Map<string, string[]>;
}

/** Return how the terms of a search are shown. */
export function readTerms(catalog: Catalog, search: Search): Terms {
  const words = wordsOf(catalog, search);
  const terms: Terms = { labels: new Map(), reread: new Map() };
  for (const { term, word, corrected_from: from } of search.terms) {
    const isKind = term.startsWith("@");
    const label = isKind ? kindTitle(term) : term.split(" ").map((stem) => restore(stem, from ? "" : word, words)).join(" ");
    terms.labels.set(term, label);
    const original = from ?? (isKind ? word : "");
    if (original) terms.reread.set(original, [...(terms.reread.get(original) ?? []), label]);
  }
  return terms;
}

/** Return a word for a stem: that of the query, else the shortest one of the tools that were found. */
function restore(stem: string, word: string, words: readonly string[]): string {
  const fits = (other: string) => other.startsWith(stem) && other.length <= stem.length + ENDING_CHARS;
  if (fits(word)) return word;
  return words.reduce<string | undefined>((best, other) => (fits(other) && (best === undefined || other.length < best.length) ? other : best), undefined) ?? stem;
}

function wordsOf(catalog: Catalog, search: Search): string[] {
  const texts = search.hits.slice(0, READ_HITS).map(({ name }) => `${findTool(catalog, name)?.summary ?? ""} ${name}`);
  return [...new Set(texts.join(" ").toLowerCase().split(/[^\p{L}\p{N}]+/u))];
}
