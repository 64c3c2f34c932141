// State that outlives a view. Secrets are here and nowhere else: in the memory of the page, until it is closed.

import { signal } from "@preact/signals";

/** API keys of the caller: id of a source → key; "" names the key for every source that takes one. */
export const apiKeys = signal<Record<string, string>>({});

export function setApiKey(source: string, key: string): void {
  const { [source]: _, ...others } = apiKeys.value;
  apiKeys.value = key ? { ...others, [source]: key } : others;
}
