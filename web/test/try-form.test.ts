import assert from "node:assert/strict";
import { test } from "node:test";

import type { Json } from "../src/api-types";
import { emptyValue, valueOf, withoutPlace, written } from "../src/try/form-values";
import { formOf } from "../src/try/schema-form";
import type { Schema } from "../src/try/schema-reader";

const form = (properties: Schema, more: Schema = {}) => formOf({ type: "object", properties, ...more });
const send = (properties: Schema, values: Record<string, unknown>, more: Schema = {}) => {
  const fields = form(properties, more);
  return written(fields, { ...(emptyValue(fields) as object), ...values } as never);
};
const messages = (found: { problems: { path: string[]; message: string }[] }) => found.problems.map(({ path, message }) => `${path.join(".")}: ${message}`);

test("each type of a schema becomes a field of its kind", () => {
  const kinds: [Schema, string][] = [
    [{ type: "string" }, "text"],
    [{ type: "integer" }, "number"],
    [{ type: ["integer", "null"] }, "number"],
    [{ type: ["integer", "number"] }, "number"],
    [{ type: "boolean" }, "boolean"],
    [{ enum: ["a", 1, null] }, "choice"],
    [{ const: "only" }, "choice"],
    [{ oneOf: [{ const: "a", title: "First" }, { const: "b" }] }, "choice"],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, "text"],
    [{ anyOf: [{ type: "string" }, { type: "integer" }] }, "variant"],
    [{ type: ["string", "integer"] }, "variant"],
    [{ type: "array", items: { type: "string" } }, "list"],
    [{ type: "array", prefixItems: [{ type: "string" }] }, "json"],
    [{ type: "array" }, "json"],
    [{ type: "object", properties: { a: { type: "string" } } }, "object"],
    [{ type: "object", additionalProperties: { type: "string" } }, "json"],
    [{ properties: { a: {} } }, "object"],
    [{}, "json"],
    [{ $ref: "#/$defs/side" }, "choice"],
    [{ allOf: [{ $ref: "#/$defs/side" }], description: "Which." }, "choice"],
    [{ $ref: "#/$defs/missing" }, "json"],
    [{ $ref: "https://example.test/other" }, "json"],
  ];
  for (const [schema, kind] of kinds) {
    const fields = form({ x: schema }, { $defs: { side: { enum: ["buy", "sell"] } } }).fields;
    assert.equal(fields[0]?.kind, kind, JSON.stringify(schema));
  }
});

test("alternatives are named by their title, by what is fixed in them, or by their first member", () => {
  const card: Schema = { type: "object", properties: { amount: { type: "number" }, kind: { const: "card" } } };
  const [field] = form({ x: { oneOf: [card, { type: "object", properties: { iban: { type: "string" } } }, { title: "Cash", type: "string" }] } }).fields;
  assert.deepEqual(field?.kind === "variant" && field.variants.map(({ title }) => title), ["kind: card", "with iban", "Cash"]);
});

test("a schema that is true, or none at all, is a form", () => {
  for (const schema of [true, undefined, null, {}, { type: "object" }, { type: "string" }] as Json[]) {
    assert.deepEqual(written(formOf(schema), emptyValue(formOf(schema))), { arguments: {}, problems: [] });
  }
  assert.equal(form({ x: true as never }).fields[0]?.kind, "json");
});

test("a schema that refers to itself ends in a field for JSON", () => {
  const node: Schema = { type: "object", properties: { name: { type: "string" }, child: { $ref: "#/$defs/node" } } };
  const fields = formOf({ type: "object", properties: { root: { $ref: "#/$defs/node" } }, $defs: { node, loop: { $ref: "#/$defs/loop" } } });
  assert.match(JSON.stringify(fields), /"kind":"json"/);
  assert.equal(formOf({ $ref: "#/$defs/loop", $defs: { loop: { $ref: "#/$defs/loop" } } }).fields.length, 0);
});

test("formats and patterns of dates become inputs for dates", () => {
  const inputs = form({
    day: { type: "string", format: "date" },
    expiration: { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}$" },
    month: { type: "string", pattern: "^\\d{4}-(0[1-9]|1[0-2])$" },
    at: { type: "string", format: "date-time" },
    code: { type: "string", default: "line one\nline two" },
  }).fields.map((field) => field.kind === "text" && field.input);
  assert.deepEqual(inputs, ["date", "date", "month", "datetime", "long"]);
});

test("empty fields are left out, and defaults are not sent", () => {
  const found = send({ a: { type: "string", default: "x" }, b: { type: "boolean" }, c: { type: "integer" }, d: { enum: ["e"] }, l: { type: "array", items: { type: "string" } }, o: { type: "object", properties: { p: { type: "string" } }, required: ["p"] } }, {});
  assert.deepEqual(found, { arguments: {}, problems: [] });
});

test("what is written has the type of the schema", () => {
  const found = send(
    { s: { type: "string" }, n: { type: "number" }, b: { type: "boolean" }, e: { enum: [1, "two", false] }, l: { type: "array", items: { type: "integer" } }, o: { type: "object", properties: { p: { type: "string" } } }, j: {} },
    { s: " 007 ", n: "−1.5e3", b: "false", e: "2", l: ["1", "", "2"], o: { p: "q" }, j: '{"deep": [null]}' },
  );
  assert.deepEqual(found, { arguments: { s: "007", n: -1500, b: false, e: false, l: [1, 2], o: { p: "q" }, j: { deep: [null] } }, problems: [] });
});

test("every broken rule is a problem of its field", () => {
  const rules: [Schema, string, RegExp][] = [
    [{ type: "integer" }, "1.5", /whole number/],
    [{ type: "integer" }, "ten", /whole number/],
    [{ type: "number" }, "1,5x", /Write a number/],
    [{ type: "number" }, "0x10", /Write a number/],
    [{ type: "number", minimum: 1 }, "0", /least value is 1/],
    [{ type: "number", maximum: 8 }, "9", /greatest value is 8/],
    [{ type: "number", exclusiveMinimum: 0 }, "0", /more than 0/],
    [{ type: "number", exclusiveMaximum: 1 }, "1", /less than 1/],
    [{ type: "number", multipleOf: 0.1 }, "0.25", /multiple of 0.1/],
    [{ type: "string", minLength: 3 }, "ab", /at least 3 characters/],
    [{ type: "string", maxLength: 3 }, "abcd", /at most 3 characters; this has 4/],
    [{ type: "string", pattern: "^[A-Z]{3}$", examples: ["EUR"] }, "eu", /form of EUR/],
    [{}, "{", /not JSON/],
  ];
  for (const [schema, text, expected] of rules) assert.match(messages(send({ x: schema }, { x: text })).join(), expected, JSON.stringify(schema));
  assert.deepEqual(messages(send({ x: { type: "string" }, y: { type: "array", items: { type: "integer" }, minItems: 1 } }, {}, { required: ["x", "y"] })), ["x: This is required.", "y: This is required."]);
  assert.match(messages(send({ x: { type: "array", items: { type: "string" }, maxItems: 1, uniqueItems: true } }, { x: ["a", "a"] })).join(), /at most 1 value\..*given once/);
});

test("one of several parameters is required where the schema says so", () => {
  const either = { anyOf: [{ required: ["symbol"] }, { required: ["bioguide_id"] }] };
  const properties = { symbol: { type: "string" }, bioguide_id: { type: "string" } };
  assert.deepEqual(messages(send(properties, {}, either)), ["symbol: One of symbol or bioguide_id is required."]);
  assert.deepEqual(messages(send(properties, { bioguide_id: "K000389" }, either)), []);
});

test("several numbers for one make a list, and an expression that could take long is left to the server", () => {
  assert.deepEqual(send({ n: { type: "integer" } }, { n: "50, 200" }).arguments, { n: [50, 200] });
  assert.deepEqual(messages(send({ s: { type: "string", pattern: "^(a+)+$" } }, { s: `${"a".repeat(60)}!` })), []);
  assert.deepEqual(messages(send({ s: { type: "string", pattern: "[" } }, { s: "x" })), []);
  assert.deepEqual(messages(send({ s: { type: "string", pattern: "^[A-Z]{3}$" } }, { s: "EUR,USD" })), []);
});

test("a whole number with more digits than a double is sent as its digits", () => {
  assert.deepEqual(send({ n: { type: "integer" } }, { n: "12345678901234567890" }).arguments, { n: "12345678901234567890" });
});

test("an example fills the form, and the form returns it", () => {
  const schema = {
    symbol: { type: "string" },
    n: { type: "integer" },
    adjusted: { type: "boolean" },
    interval: { enum: ["5min", "60min"] },
    range: { type: "array", items: { type: "string" } },
    either: { anyOf: [{ type: "integer" }, { type: "object", properties: { id: { type: "string" } }, required: ["id"] }] },
    free: {},
    __proto__x: { type: "string" },
  };
  const example: Record<string, Json> = { symbol: "IBM", n: 10, adjusted: false, interval: "60min", range: ["2month"], either: { id: "7" }, free: { a: [1] } };
  const fields = form(schema);
  assert.deepEqual(written(fields, valueOf(fields, example)), { arguments: example, problems: [] });
  assert.deepEqual(withoutPlace(fields, { ...example, other: 1 }), ["other"]);
});

test("an argument called __proto__ is an argument", () => {
  const fields = formOf(JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}') as Json);
  const found = written(fields, valueOf(fields, JSON.parse('{"__proto__":"x"}') as Json));
  assert.equal(JSON.stringify(found.arguments), '{"__proto__":"x"}');
});
