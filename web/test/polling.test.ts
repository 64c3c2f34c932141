import assert from "node:assert/strict";
import { test } from "node:test";

import { retryAfterS } from "../src/polling";

test("each failure doubles the pause, up to a limit", () => {
  assert.deepEqual([1, 2, 3, 4, 5, 50].map(retryAfterS), [1, 2, 4, 8, 15, 15]);
});
