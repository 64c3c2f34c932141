// Which tools the list shows, and how many each filter has. Pure.

import type { Catalog, CatalogTool, Search } from "../../api-types";
import { findTool } from "../../catalog-data";

export interface Filters {
  source: string;
  category: string;
}

export interface Row {
  tool: CatalogTool;
  /** Title of the category, or of the group of hits, that begins with this row; else empty. */
  heading: string;
}

const fits = (tool: CatalogTool, { source, category }: Filters): boolean => (!source || tool.source === source) && (!category || tool.category === category);

/** Return the rows: the hits of a search in its order, else the catalog by category. */
export function makeRows(catalog: Catalog, search: Search | undefined, filters: Filters): Row[] {
  if (search) return hitRows(catalog, search, filters);
  const titles = categoryTitles(catalog);
  let last: string | undefined;
  return catalog.tools.filter((tool) => fits(tool, filters)).map((tool) => {
    const heading = tool.category === last ? "" : (titles.get(tool.category) ?? tool.category);
    last = tool.category;
    return { tool, heading };
  });
}

function hitRows(catalog: Catalog, search: Search, filters: Filters): Row[] {
  const headings = search.best > 0 && search.best < search.hits.length;
  let last = "";
  return search.hits.flatMap((name, index) => {
    const tool = findTool(catalog, name);
    if (!tool || !fits(tool, filters)) return [];
    const group = index < search.best ? "Best matches" : "Weaker matches";
    const heading = headings && group !== last ? group : "";
    last = group;
    return [{ tool, heading }];
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
