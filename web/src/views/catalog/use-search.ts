// The search of the view: text → hits, as the model's TOOL_LIST ranks them.

import { useEffect, useRef, useState } from "preact/hooks";

import { search } from "../../api";
import type { Search } from "../../api-types";
import { LatestOnly } from "../../latest-only";
import { type Failure, type Result, isAborted } from "../../result";
import type { Filters } from "./rows";

/** Most hits that the server returns. A catalog with no more tools is filtered here, so that each filter has a count. */
export const LIMIT = 200;

export interface SearchState {
  /** The last answer; undefined without text. It stays while the next one is under way. */
  found: Search | undefined;
  error: Failure | undefined;
}

const NOTHING: SearchState = { found: undefined, error: undefined };

/** Search for `text` among the tools of `filters` as they change. Returns the state, and a function that tries again. */
export function useSearch(text: string, filters: Filters): [SearchState, () => void] {
  const [state, setState] = useState<SearchState>(NOTHING);
  const runner = useRef<LatestOnly<{ query: string; filters: Filters }, Result<Search>>>(undefined);
  runner.current ??= new LatestOnly(
    (input) => search(input.query, LIMIT, undefined, { ...input.filters }),
    (result) => {
      if (result.ok) setState({ found: result.value, error: undefined });
      else if (!isAborted(result.error)) setState(({ found }) => ({ found, error: result.error }));
    },
  );
  const query = text.trim();
  const start = () => runner.current?.run({ query, filters });
  useEffect(() => {
    if (query) start();
    else {
      runner.current?.cancel();
      setState(NOTHING);
    }
  }, [query, filters.source, filters.category]);
  useEffect(() => () => runner.current?.cancel(), []);
  return [query ? state : NOTHING, start];
}
