// The catalog, loaded once and shared by the views; and the last search, to which a tool's page leads back.

import { signal } from "@preact/signals";

import { getCatalog } from "./api";
import type { Catalog, CatalogTool } from "./api-types";
import type { Resource } from "./resource";
import { isAborted } from "./result";

export const catalog = signal<Resource<Catalog>>({ state: "loading" });

/** The query of the last visit to the view Catalog. */
export const lastSearch = signal<Record<string, string>>({});

let isLoading = false;

/** Load the catalog unless it is there; `again` loads it anew, in case it was compiled since. */
export async function loadCatalog(again = false): Promise<void> {
  if (isLoading || (catalog.value.state === "ready" && !again)) return;
  isLoading = true;
  if (catalog.value.state === "failed") catalog.value = { state: "loading" };
  const result = await getCatalog();
  isLoading = false;
  if (result.ok) {
    if (catalog.value.state !== "ready" || catalog.value.value.hash !== result.value.hash) catalog.value = { state: "ready", value: result.value };
  } else if (!isAborted(result.error) && catalog.value.state !== "ready") catalog.value = { state: "failed", error: result.error };
}

let indexed: { of: Catalog; byName: Map<string, CatalogTool> } | undefined;

/** Return a tool of the catalog by its name. */
export function findTool(found: Catalog, name: string): CatalogTool | undefined {
  if (indexed?.of !== found) indexed = { of: found, byName: new Map(found.tools.map((tool) => [tool.name, tool])) };
  return indexed.byName.get(name);
}
