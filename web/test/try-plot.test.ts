import assert from "node:assert/strict";
import { test } from "node:test";

import { hasLonePoint, shortNumber } from "../src/try/numbers-of-axis";

test("marks of an axis have as many digits as tell them apart", () => {
  const values = [0, 1e-9, -2.5e-7, 0.0005, 12.25, 99_999, 1_250_000, 2.8e14];
  assert.deepEqual(values.map(shortNumber), ["0", "1e-9", "-2.5e-7", "0.0005", "12.25", "99,999", "1.25M", "280T"]);
});

test("a value without a neighbour is a point, because no line leads to it", () => {
  for (const values of [[1, null, 2], [null, 1, null, 2, 3], [1]]) assert.equal(hasLonePoint(values), true, JSON.stringify(values));
  for (const values of [[1, 2, null, 3, 4], [null, null], []]) assert.equal(hasLonePoint(values), false, JSON.stringify(values));
});
