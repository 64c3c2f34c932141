import assert from "node:assert/strict";
import { test } from "node:test";

import { formatCount, formatMs, formatNumber, formatPercent } from "../src/format";

const cases: [string, string][] = [
  [formatNumber(33391), "33,391"],
  [formatCount(1, "tool"), "1 tool"],
  [formatCount(0, "tool"), "0 tools"],
  [formatCount(1290, "tool"), "1,290 tools"],
  [formatCount(2, "query", "queries"), "2 queries"],
  [formatMs(0.42), "0.4 ms"],
  [formatMs(123.4), "123 ms"],
  [formatMs(999.6), "1 s"],
  [formatMs(2345), "2.35 s"],
  [formatPercent(98.04), "98 %"],
  [formatPercent(99.96), "99.9 %"],
  [formatPercent(100), "100 %"],
  [formatPercent(-3.6), "-4 %"],
];
for (const [found, expected] of cases) test(expected, () => assert.equal(found, expected));
