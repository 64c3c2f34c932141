// All tools, searched through the index that the model uses.

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Catalog, Search } from "../api-types";
import { catalog, findTool, lastSearch, loadCatalog } from "../catalog-data";
import { BadgeLegend, FailureNotice, Page, Skeleton, VirtualList, type VirtualListHandle } from "../components";
import { examples } from "../examples";
import { formatCount, formatMs, formatNumber } from "../format";
import { href, navigate, parseRoute, previousRoute, replaceQuery, route } from "../router";
import { announce } from "../announce";
import { FilterBox } from "./catalog/filter-box";
import { NothingFound } from "./catalog/nothing-found";
import { type Filters, type Row, countTools, makeRows } from "./catalog/rows";
import { ToolRow } from "./catalog/tool-row";
import { LIMIT, useSearch } from "./catalog/use-search";

const NONE: Filters = { source: "", category: "" };
// The address follows the text when a person pauses: browsers limit how often it may change.
const ADDRESS_MS = 300;
// A count is announced when a person pauses, not after each letter.
const ANNOUNCE_MS = 800;
// One line of a row; rows with more are measured when they are shown.
const ROW_PX = 40;
// The sticky bar of the search.
const COVERED_PX = 130;

export function CatalogView(): JSX.Element {
  const [text, setText] = useState(() => route.peek().query.get("q") ?? "");
  const [filters, setFilters] = useState<Filters>(readFilters);
  useEffect(() => void loadCatalog(), []);
  useAddress(text, filters, (query) => {
    setText(query.get("q") ?? "");
    setFilters(readFilters());
  });
  const data = catalog.value;
  const [word] = examples().words;
  // A large catalog is filtered by the server, which returns some of the hits only.
  const isLarge = data.state === "ready" && data.value.tools.length > LIMIT;
  const [{ found, error }, retry] = useSearch(text, isLarge ? filters : NONE);
  const list = useRef<VirtualListHandle>(null);
  const field = useRef<HTMLInputElement>(null);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") list.current?.focusItem(0);
    else if (event.key === "Escape" && text) setText("");
    else if (event.key === "Escape") field.current?.blur();
    else return;
    event.preventDefault();
  };
  const openFirst = useOpenFirst(data.state === "ready" ? data.value : undefined, found, text.trim(), filters);
  const onSubmit = (event: Event) => {
    event.preventDefault();
    openFirst();
  };
  return (
    <Page title="Catalog" class="catalog">
      <div class="search-bar">
        <form role="search" class="search-form" onSubmit={onSubmit}>
          <label class="visually-hidden" for="search">
            Search tools
          </label>
          <input
            id="search"
            type="search"
            ref={field}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={onKeyDown}
            placeholder={`What do you need?${word ? ` For example: ${word}` : ""}`}
            autocomplete="off"
            spellcheck={false}
            enterkeyhint="go"
            maxLength={1000}
            aria-keyshortcuts="/"
          />
        </form>
        {data.state === "ready" && (
          <FilterBox catalog={data.value} filters={filters} counts={found && isLarge ? undefined : countTools(data.value, found)} onChange={setFilters} />
        )}
      </div>
      {data.state === "loading" && <Skeleton lines={12} label="Loading the catalog" />}
      {data.state === "failed" && <FailureNotice error={data.error} onRetry={() => void loadCatalog()} />}
      {error && <FailureNotice error={error} onRetry={retry} />}
      {data.state === "ready" && <BadgeLegend tiers={data.value.tools.some((tool) => tool.tier)} />}
      {data.state === "ready" && (
        <Results
          catalog={data.value}
          found={found}
          text={text}
          filters={filters}
          list={list}
          onLeave={() => field.current?.focus()}
          onClearFilters={() => setFilters(NONE)}
        />
      )}
    </Page>
  );
}

/** Return a function that opens the first tool: at once, or when the answer to the current text is there. */
function useOpenFirst(data: Catalog | undefined, found: Search | undefined, query: string, filters: Filters): () => void {
  const wanted = useRef<string>(undefined);
  const open = () => {
    if (!data || !query) return;
    wanted.current = query;
    if (found?.query !== query) return;
    wanted.current = undefined;
    const first = makeRows(data, found, filters)[0];
    if (!first) return;
    replaceQuery({ q: query, ...filters }); // so that the way back leads to this search
    navigate(href("tool", first.tool.name));
  };
  useEffect(() => {
    if (wanted.current === query) open();
    else wanted.current = undefined;
  }, [found, query]);
  return open;
}

interface ResultsProps {
  catalog: Catalog;
  found: Search | undefined;
  text: string;
  filters: Filters;
  list: { current: VirtualListHandle | null };
  onLeave: () => void;
  onClearFilters: () => void;
}

function Results({ catalog: data, found, text, filters, list, onLeave, onClearFilters }: ResultsProps): JSX.Element {
  const shownQuery = useRef(found?.query);
  const rows = useMemo(() => makeRows(data, found, filters), [data, found, filters.source, filters.category]);
  useEffect(() => {
    // The catalog was compiled again: the search has tools that the page does not know yet.
    if (found?.hits.some((name) => !findTool(data, name))) void loadCatalog(true);
  }, [found]);
  const isWeak = found?.confidence === "weak" && rows.length > 0;
  const status = isWeak ? `No tool fits closely; the nearest ${formatNumber(rows.length)}` : `${formatCount(rows.length, "tool")}${found ? " found" : ""}`;
  useEffect(() => {
    const timer = setTimeout(() => announce(status), ANNOUNCE_MS);
    return () => clearTimeout(timer);
  }, [status, found?.query]);
  useEffect(() => {
    if (scrollY > COVERED_PX && found?.query !== shownQuery.current) scrollTo(0, 0);
    shownQuery.current = found?.query;
  }, [found?.query, filters]);
  useFocusOnReturn(rows, !text.trim() || found !== undefined, list);
  if (rows.length === 0 && (found || !text.trim()))
    return <NothingFound catalog={data} query={found?.query ?? ""} filters={filters} unfiltered={found?.total ?? 0} onClearFilters={onClearFilters} />;
  return (
    <>
      <p class="result-line soft small" data-query={found?.query}>
        <span>
          {found && found.total > found.hits.length ? `the ${formatNumber(rows.length)} best of ${formatCount(found.total, "tool")}` : status}
          {found && ` in ${formatMs(found.ms)}`}
        </span>
      </p>
      <VirtualList
        count={rows.length}
        rowHeight={ROW_PX}
        covered={COVERED_PX}
        label="Tools"
        handle={list}
        onLeave={onLeave}
        keyOf={(index) => rows[index]?.tool.name ?? index}
        renderRow={(index) => {
          const row = rows[index];
          return row && <ToolRow row={row} />;
        }}
      />
    </>
  );
}

/** Focus the tool whose page a person comes back from, once its row is there. */
function useFocusOnReturn(rows: readonly Row[], isReady: boolean, list: { current: VirtualListHandle | null }): void {
  const name = useRef(previousRoute()?.view === "tool" ? previousRoute()?.name : undefined);
  useEffect(() => {
    if (!isReady || name.current === undefined) return undefined;
    const index = rows.findIndex(({ tool }) => tool.name === name.current);
    name.current = undefined;
    // After the frame has focused the heading.
    const timer = setTimeout(() => list.current?.focusItem(index));
    return () => clearTimeout(timer);
  }, [isReady]);
}

const readFilters = (): Filters => ({ source: route.peek().query.get("source") ?? "", category: route.peek().query.get("category") ?? "" });

/** Keep the address in step with what is typed, and follow it when it changes by a link or by the history. */
function useAddress(text: string, { source, category }: Filters, follow: (query: URLSearchParams) => void): void {
  const written = useRef(route.peek().query.toString());
  const query = route.value.query.toString();
  useEffect(() => {
    const current = { q: text.trim(), source, category };
    lastSearch.value = current;
    const timer = setTimeout(() => {
      // A link that is followed just now is newer than the text, also before the page was told of it.
      const address = parseRoute(location.hash);
      if (address.view !== "catalog" || address.query.toString() !== written.current) return;
      replaceQuery(current);
      written.current = route.peek().query.toString();
    }, ADDRESS_MS);
    return () => clearTimeout(timer);
  }, [text, source, category]);
  useEffect(() => {
    if (query === written.current) return;
    written.current = query;
    follow(route.peek().query);
  }, [query]);
}
