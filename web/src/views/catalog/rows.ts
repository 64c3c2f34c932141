// Which tools the list shows, and how many each filter has. Pure.

import type { Catalog, CatalogTool, Search, SearchHit } from "../../api-types";
import { findTool } from "../../catalog-data";

export interface Filters {
  source: string;
  category: string;
}

export interface Row {
  tool: CatalogTool;
  /** Of a search; undefined where all tools are listed. */
  hit: SearchHit | undefined;
  /** Title of the category that begins with this row; empty in a search. */
  heading: string;
}

const fits = (tool: CatalogTool, { source, category }: Filters): boolean => (!source || tool.source === source) && (!category || tool.category === category);

/** Return the rows: the hits of a search in its order, else the catalog by category. */
export function makeRows(catalog: Catalog, search: Search | undefined, filters: Filters): Row[] {
  if (search)
    return search.hits.flatMap((hit) => {
      const tool = findTool(catalog, hit.name);
      return tool && fits(tool, filters) ? [{ tool, hit, heading: "" }] : [];
    });
  const titles = categoryTitles(catalog);
  let last: string | undefined;
  return catalog.tools.filter((tool) => fits(tool, filters)).map((tool) => {
    const heading = tool.category === last ? "" : (titles.get(tool.category) ?? tool.category);
    last = tool.category;
    return { tool, hit: undefined, heading };
  });
}

/** Return category → title; with the title of its source where there are several. */
export function categoryTitles(catalog: Catalog): Map<string, string> {
  const several = catalog.sources.length > 1;
  return new Map(
    catalog.sources.flatMap((source) =>
      source.categories.map(({ id, title }): [string, string] => {
        const own = title || id;
        const from = source.title || source.id;
        return [id, several && own !== from ? `${from}: ${own}` : own];
      }),
    ),
  );
}

export interface Counts {
  sources: Map<string, number>;
  categories: Map<string, number>;
}

/** Count the tools that are listed without filters: those of the catalog, or the hits of a search. */
export function countTools(catalog: Catalog, search: Search | undefined): Counts {
  const counts: Counts = { sources: new Map(), categories: new Map() };
  for (const { tool } of makeRows(catalog, search, { source: "", category: "" })) {
    counts.sources.set(tool.source, (counts.sources.get(tool.source) ?? 0) + 1);
    counts.categories.set(tool.category, (counts.categories.get(tool.category) ?? 0) + 1);
  }
  return counts;
}

const FIELDS: Record<string, string> = {
  search_phrases: "phrases written for the search",
  its_name: "its name is in the request",
  part_of_request: "a part of the request",
  meaning: "near in meaning",
  kinds: "kind of name",
};

/** Return the name of a field of the index in words. */
export const fieldTitle = (field: string): string => FIELDS[field] ?? field.replaceAll("_", " ");

/** Return a term in words: "@company" is a kind of proper names. */
export const termTitle = (term: string): string => (term.startsWith("@") ? `a ${term.slice(1).replaceAll("_", " ")}` : term);

/** Return the strongest terms of a hit, each once. */
export function strongestTerms(hit: SearchHit, most: number): string[] {
  const weights = new Map<string, number>();
  for (const { term, weight } of hit.terms) weights.set(term, (weights.get(term) ?? 0) + weight);
  return [...weights].sort((one, other) => other[1] - one[1]).slice(0, most).flatMap(([term]) => (term ? [termTitle(term)] : []));
}

/** Return the corrections of a query: "dividnds" → ["dividend"]. */
export function corrections(search: Search): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { term, corrected_from: from } of search.terms) if (from) found.set(from, [...(found.get(from) ?? []), termTitle(term)]);
  return found;
}
