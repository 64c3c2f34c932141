// The search of the view: text → hits, as the model's TOOL_LIST ranks them.

import { useEffect, useRef, useState } from "preact/hooks";

import { search } from "../../api";
import type { Search } from "../../api-types";
import { LatestOnly } from "../../latest-only";
import { type Failure, type Result, isAborted } from "../../result";

// A screen shows some twenty rows; nobody reads further than this.
const LIMIT = 200;
// Filters are applied to the hits, so more of them are needed.
const FILTERED_LIMIT = 1000;

export interface SearchState {
  /** The last answer; undefined without text. It stays while the next one is under way. */
  found: Search | undefined;
  error: Failure | undefined;
}

/** Search for `text` as it changes. Returns the state, and a function that tries again. */
export function useSearch(text: string, isFiltered: boolean): [SearchState, () => void] {
  const [state, setState] = useState<SearchState>({ found: undefined, error: undefined });
  const runner = useRef<LatestOnly<{ query: string; limit: number }, Result<Search>>>(undefined);
  runner.current ??= new LatestOnly(
    ({ query, limit }) => search(query, limit),
    (result) => {
      if (result.ok) setState({ found: result.value, error: undefined });
      else if (!isAborted(result.error)) setState(({ found }) => ({ found, error: result.error }));
    },
  );
  const query = text.trim();
  const limit = isFiltered ? FILTERED_LIMIT : LIMIT;
  const start = () => runner.current?.run({ query, limit });
  useEffect(() => {
    if (query) start();
    else {
      runner.current?.cancel();
      setState({ found: undefined, error: undefined });
    }
  }, [query, limit]);
  useEffect(() => () => runner.current?.cancel(), []);
  return [query ? state : { found: undefined, error: undefined }, start];
}
