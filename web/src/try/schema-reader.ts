// JSON Schema without its references.

import type { Json } from "../api-types";

export type Schema = { [keyword: string]: Json };

/** Levels of `$ref` and `allOf` that are resolved; a schema may refer to itself. */
const MAX_RESOLVED = 12;

/** Return a schema without `$ref` and `allOf` at its top. */
export function resolve(schema: Schema, root: Schema, level = 0): Schema {
  if (level > MAX_RESOLVED) return {};
  if (typeof schema.$ref === "string") {
    const { $ref, ...beside } = schema;
    return { ...resolve(lookUp($ref as string, root), root, level + 1), ...beside };
  }
  if (Array.isArray(schema.allOf)) {
    const { allOf, ...beside } = schema;
    const parts = (allOf as Json[]).map((part) => resolve(asSchema(part), root, level + 1));
    return merge([...parts, beside]);
  }
  return schema;
}

function merge(parts: Schema[]): Schema {
  const merged: Schema = {};
  for (const part of parts) {
    const properties = { ...(isObject(merged.properties) ? merged.properties : {}), ...(isObject(part.properties) ? part.properties : {}) };
    const required = [...new Set([...namesIn(merged.required), ...namesIn(part.required)])];
    Object.assign(merged, part);
    if (Object.keys(properties).length) merged.properties = properties;
    if (required.length) merged.required = required;
  }
  return merged;
}

function lookUp(reference: string, root: Schema): Schema {
  if (!reference.startsWith("#")) return {};
  let found: Json | undefined = root;
  for (const part of reference.slice(1).split("/").slice(1)) {
    const key = decode(part).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return asSchema(found);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function typesOf(schema: Schema): string[] {
  if (typeof schema.type === "string") return [schema.type];
  return Array.isArray(schema.type) ? schema.type.filter((type): type is string => typeof type === "string") : [];
}

export function namesIn(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((name): name is string => typeof name === "string") : [];
}

export function text(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

export function asSchema(value: Json | undefined): Schema {
  return isObject(value) ? value : {};
}

export function isObject(value: unknown): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
