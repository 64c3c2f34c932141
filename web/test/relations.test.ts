import assert from "node:assert/strict";
import { test } from "node:test";

import { groupRelations } from "../src/views/tool/relation-groups";

test("relations are grouped by kind, each tool once, with what connects the two", () => {
  const found = groupRelations([
    { kind: "then", name: "B", via: "" },
    { kind: "use_instead", name: "A", via: "gold" },
    { kind: "use_instead", name: "A", via: "silver" },
    { kind: "is_part_of", name: "C", via: "" },
    { kind: "", name: "D", via: "" },
  ]);
  assert.deepEqual(found, [
    { title: "Often called next", tools: [{ name: "B", via: [] }] },
    { title: "Call another tool for", tools: [{ name: "A", via: ["gold", "silver"] }] },
    { title: "Is part of", tools: [{ name: "C", via: [] }] },
    { title: "Related", tools: [{ name: "D", via: [] }] },
  ]);
});
