import assert from "node:assert/strict";
import { test } from "node:test";

import type { Watch, WatchedCall, WatchedRequest } from "../src/api-types";
import { EMPTY_FEED, NO_FILTER, addAnswer, filterRows, readFigure } from "../src/views/watch/feed";

const answer = (next: number, calls: Partial<WatchedCall>[] = [], requests: Partial<WatchedRequest>[] = []): Watch => ({
  next,
  running: [],
  calls: calls.map((call, index) => ({ id: `${next}-${index}`, time: "2026-01-01T10:00:00Z", tool: "WTI", source: "", code: "OK", ms: 1, upstream_ms: null, cache: "miss", tokens: null, saved: null, profile: null, ...call })),
  requests: requests.map((request, index) => ({ id: `${next}-${index}`, time: "2026-01-01T10:00:00Z", name: "TOOL_CALL", ms: 1, tokens: null, saved: null, code: "OK", ...request })),
  figures: {},
  limits: [],
  empty_searches: [],
  log: null,
});

const names = (feed: { rows: { name: string }[] }): string[] => feed.rows.map(({ name }) => name);

test("the newest row is first, and a request is above the call in it", () => {
  const feed = addAnswer(EMPTY_FEED, answer(2, [{}, { tool: "GOLD", time: "2026-01-01T10:00:09Z" }], [{}]), 0);
  assert.deepEqual(names(feed), ["GOLD", "TOOL_CALL", "WTI"]);
});

test("a row that is sent twice is listed once", () => {
  const feed = addAnswer(addAnswer(EMPTY_FEED, answer(1, [{ id: "a" }]), 0), answer(2, [{ id: "a" }, { id: "b" }]), 0);
  assert.equal(feed.rows.length, 2);
});

test("a server that was started again replaces all rows, and is requested from its beginning", () => {
  const feed = addAnswer(addAnswer(EMPTY_FEED, answer(9, [{ tool: "GOLD" }]), 0), answer(1), 0);
  assert.deepEqual([names(feed), feed.next], [[], 0]);
  assert.deepEqual(names(addAnswer(feed, answer(1, [{}]), 0)), ["WTI"]);
});

test("rows are filtered by part of a name, by kind and by outcome", () => {
  const { rows } = addAnswer(EMPTY_FEED, answer(1, [{}, { tool: "GOLD", code: "TIMEOUT" }], [{}]), 0);
  const found = (filter: object): string[] => filterRows(rows, { ...NO_FILTER, ...filter }).map(({ name }) => name);
  assert.deepEqual(found({ name: " go" }), ["GOLD"]);
  assert.deepEqual(found({ kind: "request" }), ["TOOL_CALL"]);
  assert.deepEqual(found({ kind: "all" }).length, 3);
  assert.deepEqual(found({ outcome: "errors" }), ["GOLD"]);
  assert.deepEqual(found({ outcome: "OK" }), ["WTI"]); // its request says no more
});

test("a figure that is missing is null", () => {
  assert.equal(readFigure({ searches: { total: 3 } }, "searches", "total"), 3);
  assert.equal(readFigure({ figures: { tokens_per_query: null } }, "figures", "tokens_per_query"), null);
  assert.equal(readFigure({}, "calls", "total"), null);
});
