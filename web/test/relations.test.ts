import assert from "node:assert/strict";
import { test } from "node:test";

import { groupRelations } from "../src/views/tool/relation-groups";

test("relations are grouped by kind, each tool once", () => {
  const found = groupRelations([
    { kind: "then", name: "B" },
    { kind: "alternative", name: "A" },
    { kind: "use_instead", name: "A" },
    { kind: "is_part_of", name: "C" },
    { kind: "", name: "D" },
  ]);
  assert.deepEqual(found, [
    { title: "Often called next", names: ["B"] },
    { title: "Instead of it", names: ["A"] },
    { title: "Is part of", names: ["C"] },
    { title: "Related", names: ["D"] },
  ]);
});
