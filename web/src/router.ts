// Hash routes: #/catalog?q=gold, #/tool/NAME. A hash needs no server, works below any stage prefix, and offline.

import { signal } from "@preact/signals";

export type View = "start" | "catalog" | "tool" | "try" | "ask" | "watch" | "approve" | "not-found";

export interface Route {
  view: View;
  /** The tool of #/tool/NAME and #/try/NAME; else empty. */
  name: string;
  query: URLSearchParams;
}

const PATHS: Record<string, { view: View; name: "none" | "required" | "optional" }> = {
  "": { view: "ask", name: "none" },
  start: { view: "start", name: "none" },
  catalog: { view: "catalog", name: "none" },
  tool: { view: "tool", name: "required" },
  try: { view: "try", name: "optional" },
  ask: { view: "ask", name: "none" },
  watch: { view: "watch", name: "none" },
  approve: { view: "approve", name: "none" },
};

/** Return the route of a hash such as "#/tool/GLOBAL_QUOTE?level=full". */
export function parseRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  const query = new URLSearchParams(search);
  const [first = "", ...rest] = path.replace(/\/$/, "").split("/");
  const known = Object.hasOwn(PATHS, first) ? PATHS[first] : undefined;
  const name = decode(rest.join("/"));
  const fits = known !== undefined && name !== undefined && (known.name === "optional" || (known.name === "required") === (name !== ""));
  return fits ? { view: known.view, name, query } : { view: "not-found", name: path, query };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // "%" without two digits
  }
}

/** Return the link to a view; empty members of `query` are left out. */
export function href(view: Exclude<View, "not-found">, name = "", query: Record<string, string> = {}): string {
  const set = Object.entries(query).filter(([, value]) => value !== "");
  const path = name ? `${view}/${encodeURIComponent(name)}` : view;
  return `#/${path}${set.length ? `?${new URLSearchParams(set)}` : ""}`;
}

export const route = signal<Route>({ view: "ask", name: "", query: new URLSearchParams() });

let previous: Route | undefined;

/** Return where a person came from; undefined on the first view. */
export const previousRoute = (): Route | undefined => previous;

/** Follow the address bar. Returns what ends that. */
export function startRouter(): () => void {
  const read = () => {
    previous = route.peek();
    route.value = parseRoute(location.hash);
  };
  route.value = parseRoute(location.hash);
  addEventListener("hashchange", read);
  return () => removeEventListener("hashchange", read);
}

/** Go to a link made by `href`. */
export function navigate(link: string): void {
  location.hash = link;
}

/** Change the query of this view without a new entry in the history: what a person types is kept when they return. */
export function replaceQuery(query: Record<string, string>): void {
  const { view, name } = route.peek();
  const there = parseRoute(location.hash);
  // A person may have left for another view, of which no event has come yet.
  if (view === "not-found" || view !== there.view || name !== there.name) return;
  const link = href(view, name, query);
  history.replaceState(null, "", link);
  route.value = parseRoute(link);
}
