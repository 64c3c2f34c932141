// JSON Schema 2020-12 as rows that a person reads. Schemas of other servers are read too: whatever does not fit is
// shown as "any", and never fails.

import type { Json, JsonSchema } from "./api-types";

export interface SchemaObject {
  [keyword: string]: Json;
}

export interface Parameter {
  /** Its own name; "each item" for what an array holds, "any other name" for additionalProperties, and a title for alternatives. */
  name: string;
  /** Where it is, for example "filter.prices[].from". */
  path: string;
  /** 0 for a parameter of the tool, 1 for a member of it. */
  depth: number;
  /** For example "integer", "array of string", "string or null". */
  type: string;
  required: boolean;
  /** "either" for the first of several forms of the parameter before it, "or" for the others, else empty. */
  alternative: "" | "either" | "or";
  description: string;
  /** The allowed values; empty when any is. */
  values: Json[];
  default: Json | undefined;
  /** For example "1 to 100", "at most 20 characters". */
  bounds: string[];
  examples: Json[];
  /** Its schema, with references resolved. */
  schema: SchemaObject;
}

// Schemas may refer to themselves; nobody reads deeper than this.
const MAX_DEPTH = 5;
const MAX_ROWS = 500;

export const isObject = (value: unknown): value is SchemaObject => typeof value === "object" && value !== null && !Array.isArray(value);

const asArray = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

/** Return a schema with its reference into `root` replaced; members beside the reference take precedence. */
export function resolveSchema(schema: Json | undefined, root: JsonSchema): SchemaObject {
  let current = isObject(schema) ? schema : {};
  const seen = new Set<string>();
  for (let reference = current["$ref"]; typeof reference === "string" && !seen.has(reference); reference = current["$ref"]) {
    seen.add(reference);
    const { $ref: _, ...beside } = current;
    current = { ...lookUp(reference, root), ...beside };
  }
  const all = asArray(current["allOf"]);
  return all.length && seen.size < MAX_DEPTH ? mergeAll(current, all, root) : current;
}

function lookUp(reference: string, root: JsonSchema): SchemaObject {
  if (!reference.startsWith("#")) return {};
  let found: Json | undefined = root as Json;
  for (const part of reference.slice(1).split("/").filter(Boolean)) {
    const key = safeDecode(part).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isObject(found) && Object.hasOwn(found, key) ? found[key] : Array.isArray(found) ? found[Number(key)] : undefined;
  }
  return isObject(found) ? found : {};
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function mergeAll(schema: SchemaObject, parts: Json[], root: JsonSchema): SchemaObject {
  const { allOf: _, ...own } = schema;
  const merged = [...parts.map((part) => (isObject(part) && !("allOf" in part) ? resolveSchema(part, root) : {})), own];
  return {
    ...Object.assign({}, ...merged),
    properties: Object.assign({}, ...merged.map((part) => part["properties"])),
    required: merged.flatMap((part) => asArray(part["required"])),
  };
}

/** Return the alternatives of anyOf or oneOf, resolved; empty when there are none. */
export function readAlternatives(schema: SchemaObject, root: JsonSchema): SchemaObject[] {
  return [...asArray(schema["anyOf"]), ...asArray(schema["oneOf"])].map((part) => resolveSchema(part, root));
}

/** Return what a schema allows in words: "array of string", "integer or null". */
export function describeType(schema: SchemaObject, root: JsonSchema, depth = 0): string {
  if (depth > MAX_DEPTH) return "any";
  const alternatives = readAlternatives(schema, root);
  if (alternatives.length) return joinTypes(alternatives.map((part) => describeType(part, root, depth + 1)));
  if (Array.isArray(schema["type"])) return joinTypes(schema["type"].map((type) => describeType({ ...schema, type }, root, depth + 1)));
  if (schema["type"] === "array" || (schema["type"] === undefined && "items" in schema)) {
    const items = describeType(resolveSchema(schema["items"], root), root, depth + 1);
    return items === "any" ? "array" : `array of ${items.includes(" or ") ? `(${items})` : items}`;
  }
  if (typeof schema["type"] === "string") return schema["type"];
  if ("const" in schema) return typeOf(schema["const"]);
  if (Array.isArray(schema["enum"])) return joinTypes(schema["enum"].map(typeOf));
  return isObject(schema["properties"]) ? "object" : "any";
}

const typeOf = (value: Json | undefined): string => (value === null || value === undefined ? "null" : Array.isArray(value) ? "array" : typeof value);

const joinTypes = (types: string[]): string => [...new Set(types)].join(" or ") || "any";

/** Return the bounds of a schema, each a few words. */
export function describeBounds(schema: SchemaObject): string[] {
  const found = [
    range(schema["minimum"], schema["maximum"], ""),
    typeof schema["exclusiveMinimum"] === "number" ? `above ${schema["exclusiveMinimum"]}` : "",
    typeof schema["exclusiveMaximum"] === "number" ? `below ${schema["exclusiveMaximum"]}` : "",
    typeof schema["multipleOf"] === "number" ? `a multiple of ${schema["multipleOf"]}` : "",
    range(schema["minLength"], schema["maxLength"], " characters"),
    range(schema["minItems"], schema["maxItems"], schema["minItems"] === 1 && schema["maxItems"] === undefined ? " item" : " items"),
    schema["uniqueItems"] === true ? "no item twice" : "",
    typeof schema["format"] === "string" ? `format ${schema["format"]}` : "",
    typeof schema["pattern"] === "string" ? `pattern ${schema["pattern"]}` : "",
  ];
  return found.filter(Boolean);
}

function range(low: Json | undefined, high: Json | undefined, unit: string): string {
  const [least, most] = [typeof low === "number" ? low : undefined, typeof high === "number" ? high : undefined];
  if (least !== undefined && most !== undefined) return least === most ? `exactly ${least}${unit}` : `${least} to ${most}${unit}`;
  if (least !== undefined) return `at least ${least}${unit}`;
  return most === undefined ? "" : `at most ${most}${unit}`;
}

/** Return the parameters of a tool, each followed by its members. */
export function readParameters(schema: JsonSchema): Parameter[] {
  const rows: Parameter[] = [];
  addProperties(rows, resolveSchema(schema as Json, schema), schema, "", 0);
  return rows;
}

function addProperties(rows: Parameter[], schema: SchemaObject, root: JsonSchema, prefix: string, depth: number): void {
  const required = new Set(asArray(schema["required"]));
  const properties = isObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  for (const [name, property] of properties) addRow(rows, property, root, { name, path: prefix ? `${prefix}.${name}` : name, depth, required: required.has(name) });
  const others = schema["additionalProperties"];
  if (isObject(others) && Object.keys(others).length) addRow(rows, others, root, { name: "any other name", path: `${prefix}.*`, depth, required: false });
}

function addRow(rows: Parameter[], property: Json, root: JsonSchema, place: Pick<Parameter, "name" | "path" | "depth" | "required">): void {
  if (rows.length >= MAX_ROWS) return;
  const schema = resolveSchema(property, root);
  const alternatives = readAlternatives(schema, root);
  const only = alternatives.filter((part) => part["type"] !== "null");
  // A value or null is read as the value.
  const shown = only.length === 1 ? { ...only[0], ...schema } : schema;
  rows.push({
    ...place,
    alternative: "",
    type: describeType(schema, root),
    description: text(shown["description"]) || text(shown["title"]),
    values: "const" in shown ? [shown["const"] as Json] : asArray(shown["enum"]),
    default: shown["default"],
    bounds: describeBounds(shown),
    examples: asArray(shown["examples"]),
    schema: shown,
  });
  if (place.depth >= MAX_DEPTH) return;
  addMembers(rows, shown, root, place);
  if (only.length > 1) addAlternatives(rows, only, root, place);
}

/** Add a row for each alternative that has members, with its members. */
function addAlternatives(rows: Parameter[], alternatives: SchemaObject[], root: JsonSchema, { path, depth }: { path: string; depth: number }): void {
  let alternative: Parameter["alternative"] = "either";
  for (const [index, part] of alternatives.entries()) {
    const members: Parameter[] = [];
    addMembers(members, part, root, { path, depth: depth + 1 });
    if (!members.length) continue;
    const name = text(part["title"]) || nameByConstant(part) || `form ${index + 1}`;
    const description = text(part["description"]);
    rows.push({ name, path, depth: depth + 1, type: describeType(part, root), required: false, alternative, description, values: [], default: undefined, bounds: [], examples: [], schema: part });
    alternative = "or";
    rows.push(...members.slice(0, Math.max(0, MAX_ROWS - rows.length)));
  }
}

/** Return the member that tells an object from others, with its value: "kind: card"; empty where none has a fixed value. */
export function nameByConstant(schema: { [keyword: string]: unknown }): string {
  const properties = isObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  for (const [name, property] of properties) {
    if (!isObject(property)) continue;
    const allowed = "const" in property ? [property["const"]] : property["enum"];
    if (Array.isArray(allowed) && allowed.length === 1 && typeof allowed[0] !== "object") return `${name}: ${String(allowed[0])}`;
  }
  return "";
}

function addMembers(rows: Parameter[], schema: SchemaObject, root: JsonSchema, { path, depth }: { path: string; depth: number }): void {
  addProperties(rows, schema, root, path, depth + 1);
  const items = resolveSchema(schema["items"], root);
  const alternatives = readAlternatives(items, root);
  const says = ["enum", "description", "pattern", "minimum", "maximum", "format", "maxLength"].some((keyword) => keyword in items);
  if (isObject(items["properties"]) || isObject(items["additionalProperties"])) addProperties(rows, items, root, `${path}[]`, depth + 1);
  else if (says || alternatives.some((part) => isObject(part["properties"]))) addRow(rows, items, root, { name: "each item", path: `${path}[]`, depth: depth + 1, required: false });
}

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
