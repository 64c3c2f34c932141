// What Watch has received so far: one list of calls and requests, newest first.

import type { Json, Watch } from "../../api-types";

// Rows that the page keeps; the server's own buffer is about as long.
const MAX_ROWS = 1000;

export interface Row {
  key: string;
  kind: "call" | "request";
  time: string;
  name: string;
  code: string;
  ms: number;
  upstreamMs: number | null;
  cache: string;
  tokens: number | null;
  saved: number | null;
  profile: string;
}

export interface Feed {
  /** Position in the server's list; 0 asks for everything that it still has. */
  next: number;
  rows: Row[];
  latest: Watch | null;
  /** When the latest answer came, in milliseconds since 1970: running calls count on from there. */
  receivedAt: number;
}

export const EMPTY_FEED: Feed = { next: 0, rows: [], latest: null, receivedAt: 0 };

/** Return the feed with an answer added. A server that counts from a lower number was started again: only its rows remain. */
export function addAnswer(feed: Feed, answer: Watch, receivedAt: number): Feed {
  const isRestarted = answer.next < feed.next;
  const kept = isRestarted ? [] : feed.rows;
  const known = new Set(kept.map((row) => row.key));
  const added = rowsOf(answer).filter((row) => !known.has(row.key));
  const rows = added.length ? [...added, ...kept].sort(byTime).slice(0, MAX_ROWS) : kept;
  // What it had before this number was not requested: it is now.
  return { next: isRestarted ? 0 : answer.next, rows, latest: answer, receivedAt };
}

// Equal times: a request ends after the call in it, so it is the newer one.
const byTime = (a: Row, b: Row): number => b.time.localeCompare(a.time) || b.kind.localeCompare(a.kind);

function rowsOf(answer: Watch): Row[] {
  const calls = answer.calls.map(
    (call): Row => ({
      key: `call ${call.id}`,
      kind: "call",
      time: call.time,
      name: call.tool,
      code: call.code,
      ms: call.ms,
      upstreamMs: call.upstream_ms,
      cache: call.cache,
      tokens: call.tokens,
      saved: call.saved,
      profile: call.profile ?? "",
    }),
  );
  const requests = answer.requests.map(
    (request): Row => ({
      key: `request ${request.id}`,
      kind: "request",
      time: request.time,
      name: request.name,
      code: request.code,
      ms: request.ms,
      upstreamMs: null,
      cache: "",
      tokens: request.tokens,
      saved: request.saved,
      profile: "",
    }),
  );
  return [...calls, ...requests];
}

export interface Filter {
  /** "": calls, and requests that tell more than the calls in them; "all": both. */
  kind: "" | "all" | Row["kind"];
  name: string;
  /** "": all; "errors": everything but OK; else one code. */
  outcome: string;
}

export const NO_FILTER: Filter = { kind: "", name: "", outcome: "" };

// Requests whose calls are listed themselves.
const CARRIERS: ReadonlySet<string> = new Set(["TOOL_CALL", "TOOL_CALL_WRITE", "TOOL_BATCH", "TOOL_PIPE", "TOOL_SCRIPT"]);

/** Whether a row is shown as one of `kind`. A request that failed may have ended before its call. */
function isOfKind(row: Row, kind: Filter["kind"]): boolean {
  if (kind === "") return row.kind === "call" || row.code !== "OK" || !CARRIERS.has(row.name);
  return kind === "all" || row.kind === kind;
}

/** Return the rows that pass a filter. */
export function filterRows(rows: Row[], { kind, name, outcome }: Filter): Row[] {
  const part = name.trim().toUpperCase();
  return rows.filter(
    (row) =>
      isOfKind(row, kind) &&
      row.name.toUpperCase().includes(part) &&
      (outcome === "" || (outcome === "errors" ? row.code !== "OK" : row.code === outcome)),
  );
}

/** Return a figure of `toolfold stats --json`, such as ["searches", "total"]; null where there is none. */
export function readFigure(figures: { [name: string]: Json }, ...path: string[]): number | null {
  let value: Json | undefined = figures;
  for (const name of path) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
    value = value[name];
  }
  return typeof value === "number" ? value : null;
}
