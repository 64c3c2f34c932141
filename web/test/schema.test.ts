import assert from "node:assert/strict";
import { test } from "node:test";

import type { Json } from "../src/api-types";
import { describeBounds, readParameters } from "../src/schema";

const object = (properties: { [name: string]: Json }, more: { [keyword: string]: Json } = {}): { [keyword: string]: Json } => ({ type: "object", properties, ...more });
const types = (properties: { [name: string]: Json }, more = {}) => Object.fromEntries(readParameters(object(properties, more)).map(({ path, type }) => [path, type]));

test("parameter has its type, values, default, bounds and examples", () => {
  const [row] = readParameters(object({ n: { type: "integer", minimum: 1, maximum: 9, default: 3, enum: [1, 3], description: "Count.", examples: [1] } }, { required: ["n"] }));
  assert.ok(row);
  const { schema: _, ...shown } = row;
  assert.deepEqual(shown, { name: "n", path: "n", depth: 0, type: "integer", required: true, alternative: "", description: "Count.", values: [1, 3], default: 3, bounds: ["1 to 9"], examples: [1] });
});

test("members of objects and arrays follow their parent", () => {
  const found = types({ a: object({ b: { type: "array", items: object({ c: { type: "string" } }) } }), z: { type: "boolean" } });
  assert.deepEqual(found, { a: "object", "a.b": "array of object", "a.b[].c": "string", z: "boolean" });
});

test("types are said in words", () => {
  const found = types({
    either: { anyOf: [{ type: "string" }, { type: "null" }] },
    list: { type: ["array", "null"], items: { type: ["string", "integer"] } },
    values: { enum: ["a", 1] },
    fixed: { const: true },
    free: {},
    any: true,
  });
  assert.deepEqual(found, { either: "string or null", list: "array of (string or integer) or null", values: "string or number", fixed: "boolean", free: "any", any: "any" });
});

test("references are followed, also where a schema refers to itself", () => {
  const node = object({ next: { $ref: "#/$defs/node" }, value: { $ref: "#/$defs/a~1b" } });
  const rows = readParameters(object({ head: { $ref: "#/$defs/node", description: "First." } }, { $defs: { node, "a/b": { type: "number" } } }));
  assert.equal(rows[0]?.type, "object");
  assert.equal(rows[0]?.description, "First.");
  assert.ok(rows.some(({ path, type }) => path === "head.next.value" && type === "number"));
  assert.ok(rows.length < 20);
  assert.deepEqual(types({ x: { $ref: "#/$defs/x" } }, { $defs: { x: { $ref: "#/$defs/x" } } }), { x: "any" });
});

test("allOf is one object", () => {
  const found = types({ a: { allOf: [object({ x: { type: "string" } }, { required: ["x"] }), object({ y: { type: "integer" } })] } });
  assert.deepEqual(found, { a: "object", "a.x": "string", "a.y": "integer" });
});

test("alternatives of objects show the members of each below its name", () => {
  const card = object({ kind: { const: "card" }, number: { type: "string" } });
  const rows = readParameters(object({ a: { oneOf: [card, object({ y: { type: "integer" } }), object({ z: {} }, { title: "Third" })] } }));
  assert.deepEqual(
    rows.map(({ name, depth, alternative }) => [name, depth, alternative]),
    [["a", 0, ""], ["kind: card", 1, "either"], ["kind", 2, ""], ["number", 2, ""], ["form 2", 1, "or"], ["y", 2, ""], ["Third", 1, "or"], ["z", 2, ""]],
  );
});

test("additional properties with a schema are a row", () => assert.deepEqual(types({ map: { type: "object", additionalProperties: { type: "number" } } }), { map: "object", "map.*": "number" }));

test("bounds are said in words", () => {
  assert.deepEqual(describeBounds({ minLength: 3, maxLength: 3, pattern: "^a" }), ["exactly 3 characters", "pattern ^a"]);
  assert.deepEqual(describeBounds({ exclusiveMinimum: 0, maximum: 5, multipleOf: 0.5 }), ["at most 5", "above 0", "a multiple of 0.5"]);
  assert.deepEqual(describeBounds({ minItems: 1, uniqueItems: true, format: "date" }), ["at least 1 item", "no item twice", "format date"]);
});

for (const schema of [true, false, {}, { properties: 3 }, { properties: { a: null } }, { properties: { a: { enum: 3, required: "x", items: [] } } }, { $ref: "https://example.com/x" }, { allOf: [{ allOf: [{}] }] }] as Json[]) {
  test(`schema ${JSON.stringify(schema)} does not fail`, () => assert.ok(Array.isArray(readParameters(schema as never))));
}
