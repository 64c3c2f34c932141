import assert from "node:assert/strict";
import { test } from "node:test";

import { EMPTY_SELECT, type SelectModel, parseSelect, quoteName, selectText } from "../src/try/select-model";
import { toolCallArguments } from "../src/try/request";

const model = (given: Partial<SelectModel>): SelectModel => ({ ...structuredClone(EMPTY_SELECT), ...given });

test("what is chosen becomes a select, and the select what was chosen", () => {
  const cases: [Partial<SelectModel>, string][] = [
    [{}, ""],
    [{ columns: ["timestamp", "close"] }, "timestamp, close"],
    [{ columns: ["IBM close", "last", "BRK.B"] }, '"IBM close", "last", "BRK.B"'],
    [{ table: "annualReports", columns: ["totalRevenue"], rows: { kind: "last", count: "4", by: "" } }, "from annualReports; last 4; totalRevenue"],
    [{ filters: [{ column: "strike", operator: ">=", value: "300" }, { column: "type", operator: "=", value: "call" }] }, "strike >= 300; type = 'call'"],
    [{ filters: [{ column: "name", operator: "contains", value: "it's" }] }, "name contains 'it''s'"],
    [{ filters: [{ column: "type", operator: "in", value: "call, put" }] }, "type in ('call', 'put')"],
    [{ filters: [{ column: "volume", operator: "is not null", value: "" }] }, "volume is not null"],
    [{ period: "last 6 months", order: { column: "close", descending: true }, rows: { kind: "limit", count: "5", by: "" } }, "last 6 months; order by close desc; limit 5"],
    [{ rows: { kind: "top", count: "5", by: "volume" } }, "top 5 by volume"],
    [{ aggregates: [{ name: "max", column: "close" }, { name: "count", column: "" }], group: "year" }, "max(close), count by year"],
    [{ aggregates: [{ name: "sum", column: "volume" }], group: "month", order: { column: "sum(volume)", descending: true } }, "sum(volume) by month; order by sum(volume) desc"],
  ];
  for (const [given, text] of cases) {
    assert.equal(selectText(model(given)), text);
    assert.deepEqual(parseSelect(text), model(given), text);
  }
});

test("a select that the builder cannot show is kept word for word", () => {
  for (const text of ["high-low as spread", "SELECT max(close) FROM data", "jmespath: feed[?score>`0.2`].title", "type=call or strike=280", "close > open", "[0:5]", "* except volume", "annualReports: netIncome"]) {
    assert.equal(parseSelect(text).rest, text);
    assert.equal(selectText(parseSelect(text)), text);
  }
  assert.equal(selectText(parseSelect("close; high-low as spread; last 5")), "close; high-low as spread; last 5");
});

test("parts in another order than the builder writes keep it", () => {
  for (const text of ["last 30; close > 200", "top 5 by volume; 2025", "last 30; max(close) by month", "max(close); last 5", "limit 3; order by close", "close; from data", "max(close); volume > 5"]) {
    assert.equal(selectText(parseSelect(text)), text);
    assert.notEqual(parseSelect(text).rest, "", text);
  }
  assert.equal(selectText(parseSelect("close; last 5")), "last 5; close");
  assert.equal(selectText(parseSelect("order by close; 2025; limit 3")), "2025; order by close; limit 3");
});

test("unfinished parts are left out", () => {
  assert.equal(selectText(model({ filters: [{ column: "a", operator: "=", value: " " }, { column: "", operator: "=", value: "1" }], rows: { kind: "top", count: "5", by: "" }, aggregates: [{ name: "max", column: "" }] })), "");
  assert.equal(selectText(model({ rows: { kind: "last", count: "x", by: "" } })), "");
});

test("names that are words of the language are quoted", () => {
  assert.deepEqual(["close", "date", "a b", "1. open", 'x"y', "Last"].map(quoteName), ["close", '"date"', '"a b"', '"1. open"', '"x""y"', '"Last"']);
});

test("a call has the options that were chosen alone", () => {
  const request = { tool: "GLOBAL_QUOTE", isRead: true, arguments: { symbol: "IBM" }, select: " price ", maxTokens: null, fresh: false };
  assert.deepEqual(toolCallArguments(request), { tool_name: "GLOBAL_QUOTE", arguments: { symbol: "IBM" }, select: "price" });
});
