import assert from "node:assert/strict";
import { test } from "node:test";

import { scaleOf } from "../src/mcp-app/line-chart";
import { optionChainOf } from "../src/mcp-app/option-chain";
import { shapeOf } from "../src/try/tables";

const chainOf = (columns: string[], rows: (string | number | null)[][]) => optionChainOf(shapeOf({ columns, rows }).tables[0]!);
const line = (...values: (number | null)[]) => ({ name: "", values, axis: 0, shown: true, style: 0 });

test("an option chain pairs calls and puts by strike, for each expiration", () => {
  const chain = chainOf(
    ["expiration", "strike", "type", "bid", "ask", "implied_volatility"],
    [
      ["2026-02-20", 110, "put", 1, 1.1, 0.3],
      ["2026-01-16", 110, "call", 4, 4.5, 0.2],
      ["2026-01-16", 110, "put", 5, 5.5, null],
      ["2026-01-16", 100, "put", 2, 2.5, 0.4],
    ],
  )!;
  assert.deepEqual(chain.expirations, ["2026-01-16", "2026-02-20"]);
  const { columns, rows } = chain.tableOf("2026-01-16");
  assert.deepEqual(columns.map(({ name }) => name), ["call bid", "call ask", "strike", "put ask", "put bid"]);
  assert.deepEqual(rows, [[null, null, 100, 2.5, 2], [4, 4.5, 110, 5.5, 5]]);
  const { strikes, lines } = chain.linesOf("2026-01-16")!;
  assert.deepEqual([strikes, ...lines.map(({ name, values }) => [name, ...values])], [[100, 110], ["call IV", null, 0.2], ["put IV", 0.4, null]]);
  assert.equal(chain.linesOf("2026-02-20"), null);
});

test("sources name the columns of a chain in their own way", () => {
  assert.deepEqual(chainOf(["expiry_date", "strikePrice", "right", "lastPrice"], [["2026-01-16", 100, "C", 4]])!.tableOf("2026-01-16").rows, [[4, 100, null]]);
});

test("rows without a strike, a date, or with another type are no option chain", () => {
  for (const columns of [["expiration", "strike", "type"], ["a", "strike", "type"], ["expiration", "strike", "a"]]) assert.equal(chainOf(columns, [["2026-01-16", 100, "warrant"]]), null);
});

test("an axis ends at round numbers, beyond every value", () => {
  assert.deepEqual(scaleOf([line(284, null, 341)]).ticks, [280, 300, 320, 340, 360]);
  assert.deepEqual(scaleOf([line(0.02, 0.9)]).ticks, [0, 0.25, 0.5, 0.75, 1]);
  for (const values of [[5, 5], [0], [-3], [null], [1e-9, 2e-9], [-1e12, 1e12]]) {
    const { low, high, ticks } = scaleOf([line(...values)]);
    assert.ok(values.every((value) => value === null || (low <= value && value <= high)), JSON.stringify(values));
    assert.ok(ticks.length > 1 && ticks.length < 9, JSON.stringify(ticks));
  }
});
