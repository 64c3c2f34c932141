// The form of a JSON Schema (2020-12). What a form cannot show is a field for JSON text.

import type { Json } from "../api-types";
import { nameByConstant } from "../schema";
import type { Base, Choice, Field, NumberField, ObjectField, TextField } from "./fields";
import { type Schema, asSchema, isObject, namesIn, resolve, text, typesOf } from "./schema-reader";

/** Levels of objects and lists that a form shows; what is deeper is a field for JSON text. */
const MAX_DEPTH = 6;

/** Fields of one object; a schema may be made by anyone. */
const MAX_FIELDS = 300;

/** Patterns that every date, or month, of the format fulfils, as catalogs write them. */
const DATE_PATTERNS: Record<string, TextField["input"]> = {
  "^\\d{4}-\\d{2}-\\d{2}$": "date",
  "^[0-9]{4}-[0-9]{2}-[0-9]{2}$": "date",
  "^\\d{4}-(0[1-9]|1[0-2])-\\d{2}$": "date",
  "^\\d{4}-(0[1-9]|1[0-2])$": "month",
  "^\\d{4}-\\d{2}$": "month",
};

const FORMATS: Record<string, TextField["input"]> = {
  date: "date",
  "date-time": "datetime",
  time: "time",
  email: "email",
  uri: "url",
  url: "url",
};

/** Return the form of a tool's parameters: always an object. */
export function formOf(schema: Json | undefined): ObjectField {
  const root = asSchema(schema);
  const field = objectField(base("", root, true), resolve(root, root), root, 0);
  return field.kind === "object" ? field : { ...base("", root, true), kind: "object", fields: [], oneOf: [] };
}

/** Return the field of one parameter. */
export function fieldOf(name: string, given: Json | undefined, root: Schema, required: boolean, depth: number): Field {
  const written = asSchema(given);
  let schema = resolve(written, root);
  let nullable = false;
  const types = typesOf(schema);
  if (types.includes("null")) {
    nullable = true;
    schema = { ...schema, type: types.filter((type) => type !== "null") };
  }
  const alternatives = alternativesOf(schema, root);
  if (alternatives) {
    const rest = alternatives.filter((one) => !isNull(one));
    if (rest.length < alternatives.length) nullable = true;
    if (rest.length === 1) {
      const { anyOf: _anyOf, oneOf: _oneOf, ...outer } = schema;
      schema = resolve({ ...rest[0], ...outer }, root);
    } else {
      const common: Base = { ...base(name, schema, required), nullable };
      return variantField(common, rest, schema, root, depth);
    }
  }
  return simpleField({ ...base(name, schema, required), nullable: nullable || schema.nullable === true }, schema, root, depth);
}

function simpleField(common: Base, schema: Schema, root: Schema, depth: number): Field {
  if ("const" in schema) return { ...common, kind: "choice", choices: [choice(schema.const as Json)] };
  if (Array.isArray(schema.enum)) {
    const values = schema.enum.filter((value) => value !== null);
    if (values.length && values.length < schema.enum.length) common = { ...common, nullable: true };
    return { ...common, kind: "choice", choices: values.map((value) => choice(value)) };
  }
  const types = typesOf(schema);
  const type = types.length === 1 ? types[0] : types.length ? "" : impliedType(schema);
  if (type === "boolean") return { ...common, kind: "boolean" };
  if (type === "string") return textField(common, schema);
  if (type === "integer" || type === "number") return numberField(common, schema, type === "integer");
  if (type === "array") return listField(common, schema, root, depth);
  if (type === "object") return objectField(common, schema, root, depth);
  if (types.length && types.every((one) => one === "integer" || one === "number")) return numberField(common, schema, false);
  if (types.length > 1 && types.every((one) => ["string", "integer", "number", "boolean", "array"].includes(one))) {
    const variants = types.map((one) => fieldOf("", { ...schema, type: one, title: one, description: "" }, root, true, depth + 1));
    return { ...common, kind: "variant", variants };
  }
  return { ...common, kind: "json", type: types.join(" or ") };
}

function variantField(common: Base, alternatives: Schema[], schema: Schema, root: Schema, depth: number): Field {
  const resolved = alternatives.map((one) => resolve(one, root));
  if (resolved.every((one) => "const" in one)) {
    const choices = resolved.map((one) => ({ ...choice(one.const as Json), ...titleOf(one) }));
    return { ...common, kind: "choice", choices };
  }
  if (depth >= MAX_DEPTH) return { ...common, kind: "json", type: "" };
  const { anyOf: _anyOf, oneOf: _oneOf, description: _description, title: _title, default: _default, ...outer } = schema;
  const variants = resolved.map((one, index) => {
    const variant = fieldOf("", { ...outer, ...one }, root, true, depth + 1);
    return { ...variant, title: text(one.title) || (text(one.description).length <= 40 && text(one.description)) || nameByConstant(one) || kindName(variant, index) };
  });
  return { ...common, kind: "variant", variants };
}

function textField(common: Base, schema: Schema): TextField {
  const pattern = text(schema.pattern);
  const example = [schema.default, ...common.examples].find((value) => typeof value === "string") as string | undefined;
  const isLong = (example !== undefined && (example.includes("\n") || example.length > 80)) || Number(schema.minLength) > 200;
  const input = FORMATS[text(schema.format)] ?? DATE_PATTERNS[pattern] ?? (isLong ? "long" : "text");
  return { ...common, kind: "text", input, ...bounds(schema, ["minLength", "maxLength"]), ...(pattern ? { pattern } : {}) };
}

function numberField(common: Base, schema: Schema, integer: boolean): NumberField {
  const limits = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
  return { ...common, kind: "number", integer, ...bounds(schema, limits) };
}

function listField(common: Base, schema: Schema, root: Schema, depth: number): Field {
  const items = schema.items;
  if (depth >= MAX_DEPTH || Array.isArray(schema.prefixItems) || items === false || !isObject(items)) {
    return { ...common, kind: "json", type: "array" };
  }
  const item = fieldOf("", items, root, true, depth + 1);
  const most = typeof schema.maxItems === "number" ? schema.maxItems : Infinity;
  const least = typeof schema.minItems === "number" ? schema.minItems : 0;
  return { ...common, kind: "list", item, minItems: least, maxItems: most, unique: schema.uniqueItems === true };
}

function objectField(common: Base, schema: Schema, root: Schema, depth: number): Field {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const names = Object.keys(properties);
  if (depth >= MAX_DEPTH || names.length > MAX_FIELDS || (!names.length && depth > 0)) {
    return { ...common, kind: "json", type: "object" };
  }
  const required = namesIn(schema.required);
  const fields = names.map((name) => fieldOf(name, properties[name], root, required.includes(name), depth + 1));
  return { ...common, kind: "object", fields, oneOf: requiredGroups(schema) };
}

/** Return the groups of names of which one must be given: `anyOf: [{required: […]}, …]`. */
function requiredGroups(schema: Schema): string[][] {
  const alternatives = Array.isArray(schema.anyOf) ? schema.anyOf : Array.isArray(schema.oneOf) ? schema.oneOf : [];
  const groups = alternatives.map((one) => (isObject(one) ? namesIn(one.required) : []));
  return groups.length && groups.every((group) => group.length) ? groups : [];
}

/** Return the alternatives of a schema, or null where `anyOf` only says what is required. */
function alternativesOf(schema: Schema, root: Schema): Schema[] | null {
  const given = Array.isArray(schema.oneOf) ? schema.oneOf : Array.isArray(schema.anyOf) ? schema.anyOf : null;
  if (!given || !given.length) return null;
  const found = given.map(asSchema);
  const onlyRequire = found.every((one) => Object.keys(resolve(one, root)).every((key) => key === "required"));
  return onlyRequire ? null : found;
}

function base(name: string, schema: Schema, required: boolean): Base {
  const examples = Array.isArray(schema.examples) ? schema.examples : "example" in schema ? [schema.example as Json] : [];
  return {
    name,
    title: text(schema.title) || name,
    description: text(schema.description),
    required,
    nullable: false,
    examples,
    ...("default" in schema ? { default: schema.default } : {}),
  };
}

function impliedType(schema: Schema): string {
  if (isObject(schema.properties)) return "object";
  if (isObject(schema.items)) return "array";
  if ("pattern" in schema || "minLength" in schema || "maxLength" in schema) return "string";
  return "minimum" in schema || "maximum" in schema ? "number" : "";
}

function kindName(field: Field, index: number): string {
  const names = { text: "text", number: "number", boolean: "true or false", choice: "one of a list", list: "list" };
  if (field.kind === "number" && field.integer) return "whole number";
  if (field.kind === "object" && field.fields[0]) return `with ${field.fields[0].name}`;
  return (names as Record<string, string>)[field.kind] ?? `form ${index + 1}`;
}

function isNull(schema: Schema): boolean {
  return schema.type === "null" || ("const" in schema && schema.const === null);
}

function choice(value: Json): Choice {
  return { value, title: typeof value === "string" ? value : JSON.stringify(value) };
}

function titleOf(schema: Schema): { title?: string } {
  return text(schema.title) ? { title: text(schema.title) } : {};
}

function bounds(schema: Schema, keywords: string[]): Record<string, number> {
  const found = keywords.filter((keyword) => typeof schema[keyword] === "number" && Number.isFinite(schema[keyword]));
  return Object.fromEntries(found.map((keyword) => [keyword, schema[keyword] as number]));
}
