import assert from "node:assert/strict";
import { test } from "node:test";

import type { Catalog, Search } from "../src/api-types";
import { groupClients, isInstallLink } from "../src/clients";
import { heading } from "../src/views/start/about";
import { categoryTitles, countTools, makeRows } from "../src/views/catalog/rows";

const tool = (name: string, source: string, category: string) => ({ name, source, category, summary: "", effect: "read", tier: "" });
const catalog: Catalog = {
  hash: "h",
  sources: [
    { id: "s1", title: "One", kind: "openapi", description: "", categories: [{ id: "c1", title: "First" }, { id: "c2", title: "" }] },
    { id: "s2", title: "Two", kind: "mcp", description: "", categories: [{ id: "c3", title: "Two" }] },
  ],
  tools: [tool("A", "s1", "c1"), tool("B", "s1", "c1"), tool("C", "s1", "c2"), tool("D", "s2", "c3")],
};
const search: Search = {
  query: "x",
  ms: 1,
  hits: ["D", "GONE", "A"],
  total: 3,
  best: 1,
  confidence: "sure",
};
const none = { source: "", category: "" };

test("without a search the catalog is listed, with a heading where a category begins", () => {
  assert.deepEqual(makeRows(catalog, undefined, none).map(({ tool: { name }, heading }) => [name, heading]), [["A", "One: First"], ["B", ""], ["C", "One: c2"], ["D", "Two"]]);
});

test("hits are listed in their order; one that the catalog has no more is left out", () => {
  assert.deepEqual(makeRows(catalog, search, none).map(({ tool: { name }, heading }) => [name, heading]), [["D", "Best matches"], ["A", "Weaker matches"]]);
});

test("filters apply to both", () => {
  assert.deepEqual(makeRows(catalog, search, { source: "s1", category: "" }).map(({ tool: { name } }) => name), ["A"]);
  assert.deepEqual(makeRows(catalog, undefined, { source: "", category: "c3" }).map(({ tool: { name } }) => name), ["D"]);
});

test("tools are counted by source and category", () => {
  assert.deepEqual(Object.fromEntries(countTools(catalog, undefined).sources), { s1: 3, s2: 1 });
  assert.deepEqual(Object.fromEntries(countTools(catalog, search).categories), { c3: 1, c1: 1 });
});

test("a category has the title of its source once", () => {
  assert.equal(categoryTitles(catalog).get("c3"), "Two");
});

test("setups are grouped by client, and links that run code are left out", () => {
  const setups = [
    { id: "a", title: "A", kind: "json" as const, text: "{}", file: "f" },
    { id: "b", title: "B", kind: "link" as const, text: "javascript:alert(1)", file: null },
    { id: "a", title: "A", kind: "link" as const, text: "cursor://install", file: null },
  ];
  assert.deepEqual(groupClients(setups).map(({ id, setups: own, links }) => [id, own.length, links.length]), [["a", 1, 1], ["b", 0, 0]]);
  for (const text of ["data:text/html,x", "not a link", "", "JAVASCRIPT:x"]) assert.equal(isInstallLink(text), false, text);
});

test("heading counts the tools that a model sees", () => {
  assert.equal(heading(3, 129), "Three tools instead of 129");
  assert.equal(heading(12, 10_000), "12 tools instead of 10,000");
  assert.equal(heading(3, 2), "toolfold");
  assert.equal(heading(undefined, 129), "toolfold");
});
