// What the page writes, compared with a file that Python reads too: tests/unit/results/select/test_written_selects.py.

import assert from "node:assert/strict";
import { test } from "node:test";

import selects from "../../tests/fixtures/explorer/selects.json";
import { EMPTY_SELECT, type SelectModel, parseSelect, quoteName, selectText } from "../src/try/select-model";

test("each select that Python runs is what the choices make, and the choices are what it reads as", () => {
  for (const { chosen, select } of selects.selects) {
    const model = { ...structuredClone(EMPTY_SELECT), ...chosen } as SelectModel;
    assert.equal(selectText(model), select);
    assert.deepEqual(parseSelect(select), model, select);
  }
});

test("each name is quoted as Python reads it", () => {
  for (const [name, quoted] of selects.names as [string, string][]) assert.equal(quoteName(name), quoted);
});
