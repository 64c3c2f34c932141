import assert from "node:assert/strict";
import { test } from "node:test";

import { href, parseRoute } from "../src/router";

const read = (hash: string) => {
  const { view, name, query } = parseRoute(hash);
  return { view, name, query: Object.fromEntries(query) };
};

for (const [hash, view, name] of [
  ["", "ask", ""],
  ["#", "ask", ""],
  ["#/", "ask", ""],
  ["#/start", "start", ""],
  ["#/catalog", "catalog", ""],
  ["#/catalog/", "catalog", ""],
  ["#/tool/GLOBAL_QUOTE", "tool", "GLOBAL_QUOTE"],
  ["#/tool/a%2Fb", "tool", "a/b"],
  ["#/tool/a/b", "tool", "a/b"],
  ["#/try", "try", ""],
  ["#/try/X", "try", "X"],
  ["#/watch", "watch", ""],
  ["#/tool", "not-found", "tool"],
  ["#/watch/more", "not-found", "watch/more"],
  ["#/tool/%", "not-found", "tool/%"],
  ["#/constructor", "not-found", "constructor"],
  ["#/__proto__", "not-found", "__proto__"],
] as const) {
  test(`hash "${hash}" is ${view}`, () => assert.deepEqual(read(hash), { view, name, query: {} }));
}

test("query is read, with further question marks in its values", () => {
  assert.deepEqual(read("#/catalog?q=what%3F&source=a%20b"), { view: "catalog", name: "", query: { q: "what?", source: "a b" } });
  assert.deepEqual(read("#/catalog?q=a?b").query, { q: "a?b" });
});

test("every link leads back to its route", () => {
  for (const name of ["GLOBAL_QUOTE", "a/b?c#d", "日本", "100%", "<img>"]) assert.deepEqual(read(href("tool", name, { level: "full" })), { view: "tool", name, query: { level: "full" } });
});

test("empty members of a query are left out", () => assert.equal(href("catalog", "", { q: "", source: "x" }), "#/catalog?source=x"));
