// What a person wrote in a form, and the arguments that it means.

import { formatCount, formatNumber } from "../format";
import type { Json } from "../api-types";
import type { Field, ListField, NumberField, ObjectField, TextField } from "./fields";
import { isObject } from "./schema-reader";

/** The value of one field as it is written: text, of a list its items, of an object its fields. */
export type Value = string | Value[] | { [name: string]: Value } | { variant: number; value: Value };

/** A problem of one field. `path` names it: `["range", "0"]`. */
export type Problem = { path: string[]; message: string };

export type Written = { arguments: { [name: string]: Json }; problems: Problem[] };

/** Return the empty value of a field. */
export function emptyValue(field: Field): Value {
  if (field.kind === "list") return Array.from({ length: Math.min(field.minItems, 20) }, () => emptyValue(field.item));
  if (field.kind === "object") return Object.fromEntries(field.fields.map((inner) => [inner.name, emptyValue(inner)]));
  if (field.kind === "variant") return { variant: 0, value: emptyValue(field.variants[0]!) };
  return "";
}

/** Return what must be written in `field` to send `json`. */
export function valueOf(field: Field, json: Json | undefined): Value {
  if (json === undefined) return emptyValue(field);
  if (field.kind === "list") return Array.isArray(json) ? json.map((item) => valueOf(field.item, item)) : [valueOf(field.item, json)];
  if (field.kind === "object") {
    const given = isObject(json) ? json : {};
    return Object.fromEntries(field.fields.map((inner) => [inner.name, valueOf(inner, own(given, inner.name))]));
  }
  if (field.kind === "variant") {
    const fitting = field.variants.findIndex((one) => fits(one, json));
    const variant = fitting < 0 ? 0 : fitting;
    return { variant, value: valueOf(field.variants[variant]!, json) };
  }
  if (field.kind === "choice") {
    const found = field.choices.findIndex((one) => equal(one.value, json));
    return found < 0 ? "" : String(found);
  }
  if (field.kind === "json") return JSON.stringify(json, null, 2);
  if (field.kind === "boolean") return typeof json === "boolean" ? String(json) : "";
  if (Array.isArray(json)) return json.map(plain).join(", ");
  return plain(json);
}

/** Return the arguments of `given` for which the form has no place. */
export function withoutPlace(form: ObjectField, given: { [name: string]: Json }): string[] {
  const known = new Set(form.fields.map((field) => field.name));
  return Object.keys(given).filter((name) => !known.has(name));
}

/** Return the arguments of a form and what is wrong with them. Empty fields are left out. */
export function written(form: ObjectField, values: Value): Written {
  const problems: Problem[] = [];
  const found = objectOf(form, values, [], problems) ?? {};
  return { arguments: found, problems };
}

function jsonOf(field: Field, value: Value, path: string[], problems: Problem[]): Json | undefined {
  const before = problems.length;
  const found = unchecked(field, value, path, problems);
  if (found === undefined && field.required && problems.length === before) {
    problems.push({ path, message: "This is required." });
  }
  return found;
}

function unchecked(field: Field, value: Value, path: string[], problems: Problem[]): Json | undefined {
  switch (field.kind) {
    case "object":
      return objectOf(field, value, path, problems);
    case "list":
      return listOf(field, value, path, problems);
    case "variant": {
      const { variant, value: inner } = value as { variant: number; value: Value };
      const chosen = { ...field.variants[variant]!, required: field.required };
      return jsonOf(chosen, inner, path, problems);
    }
    case "choice":
      return value === "" ? undefined : field.choices[Number(value)]?.value;
    case "boolean":
      return value === "" ? undefined : value === "true";
    case "json":
      return freeForm(value as string, path, problems);
    case "number":
      return numbers(field, value as string, path, problems);
    case "text":
      return textOf(field, value as string, path, problems);
  }
}

function objectOf(field: ObjectField, value: Value, path: string[], problems: Problem[]): { [name: string]: Json } | undefined {
  const values = value as { [name: string]: Value };
  const found: { [name: string]: Json } = {};
  const isEmpty = path.length > 0 && !field.required && field.fields.every((inner) => isBlank(inner, values[inner.name]!));
  if (isEmpty) return undefined;
  for (const inner of field.fields) {
    const json = jsonOf(inner, values[inner.name] ?? emptyValue(inner), [...path, inner.name], problems);
    if (json !== undefined) define(found, inner.name, json);
  }
  if (field.oneOf.length && !field.oneOf.some((group) => group.every((name) => Object.hasOwn(found, name)))) {
    const groups = field.oneOf.map((group) => group.join(" and "));
    problems.push({ path: [...path, field.oneOf[0]![0]!], message: `One of ${groups.join(" or ")} is required.` });
  }
  return found;
}

function listOf(field: ListField, value: Value, path: string[], problems: Problem[]): Json[] | undefined {
  const rows = (value as Value[]).map((item, index) => ({ item, index }));
  const filled = rows.filter(({ item }) => !isBlank(field.item, item));
  if (!filled.length) return undefined;
  const items = filled.map(({ item, index }) => jsonOf(field.item, item, [...path, String(index)], problems) ?? null);
  if (items.length < field.minItems) problems.push({ path, message: `Give at least ${formatCount(field.minItems, "value")}.` });
  if (items.length > field.maxItems) problems.push({ path, message: `Give at most ${formatCount(field.maxItems, "value")}.` });
  if (field.unique && new Set(items.map((item) => JSON.stringify(item))).size < items.length) {
    problems.push({ path, message: "Each value may be given once." });
  }
  return items;
}

/** Return a number, or several of them: a list for one number makes one call for each. */
function numbers(field: NumberField, value: string, path: string[], problems: Problem[]): Json | undefined {
  const text = value.trim();
  if (!text) return undefined;
  if (text === "null" && field.nullable) return null;
  if (!text.includes(",") || !path.length) return numberOf(field, text, path, problems);
  return text.split(",").filter((part) => part.trim()).map((part) => numberOf(field, part.trim(), path, problems) ?? null);
}

function numberOf(field: NumberField, text: string, path: string[], problems: Problem[]): Json | undefined {
  const number = Number(text.replace(/^[−–]/, "-"));
  const report = (message: string) => {
    problems.push({ path, message });
    return undefined;
  };
  if (!/^[-−–+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) || !Number.isFinite(number)) {
    return report(field.integer ? "Write a whole number, such as 10." : "Write a number, such as 10 or 0.5.");
  }
  if (field.integer && !Number.isInteger(number)) return report("Write a whole number, such as 10.");
  if (field.minimum !== undefined && number < field.minimum) return report(`The least value is ${field.minimum}.`);
  if (field.maximum !== undefined && number > field.maximum) return report(`The greatest value is ${field.maximum}.`);
  if (field.exclusiveMinimum !== undefined && number <= field.exclusiveMinimum) {
    return report(`The value must be more than ${field.exclusiveMinimum}.`);
  }
  if (field.exclusiveMaximum !== undefined && number >= field.exclusiveMaximum) {
    return report(`The value must be less than ${field.exclusiveMaximum}.`);
  }
  if (field.multipleOf && Math.abs(number / field.multipleOf - Math.round(number / field.multipleOf)) > 1e-9) {
    return report(`The value must be a multiple of ${field.multipleOf}.`);
  }
  // A number with more digits than a double has is sent as its digits.
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? text : number;
}

function textOf(field: TextField, value: string, path: string[], problems: Problem[]): Json | undefined {
  const text = field.input === "long" ? value : value.trim();
  if (!text.trim()) return undefined;
  const length = [...text].length;
  if (field.minLength !== undefined && length < field.minLength) {
    problems.push({ path, message: `Give at least ${formatCount(field.minLength, "character")}.` });
  } else if (field.maxLength !== undefined && length > field.maxLength) {
    problems.push({ path, message: `Give at most ${formatCount(field.maxLength, "character")}; this has ${formatNumber(length)}.` });
  } else if (field.pattern && !matches(field.pattern, text) && !text.split(/[,\n]/).every((part) => matches(field.pattern!, part.trim()))) {
    problems.push({ path, message: `This does not have the form ${hint(field)}.` });
  }
  return text;
}

function hint(field: TextField): string {
  const example = field.examples.find((one) => typeof one === "string" && one);
  if (field.input === "date") return "2026-01-31";
  if (field.input === "month") return "2026-01";
  return example === undefined ? `of the expression ${field.pattern}` : `of ${plain(example)}`;
}

/** A group that is repeated: such an expression may take exponential time. The server checks these. */
const REPEATED_GROUP = /\)(?:[*+]|\{\d*,)|\\[1-9]/;

const MAX_MATCHED = 1000;

function matches(pattern: string, text: string): boolean {
  if (REPEATED_GROUP.test(pattern) || text.length > MAX_MATCHED || pattern.length > MAX_MATCHED) return true;
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true;
  }
}

function freeForm(value: string, path: string[], problems: Problem[]): Json | undefined {
  if (!value.trim()) return undefined;
  try {
    return JSON.parse(value) as Json;
  } catch (error) {
    problems.push({ path, message: `This is not JSON: ${(error as Error).message.slice(0, 120)}` });
    return undefined;
  }
}

function isBlank(field: Field, value: Value | undefined): boolean {
  if (value === undefined) return true;
  if (typeof value === "string") return !value.trim();
  if (Array.isArray(value)) return field.kind !== "list" || value.every((item) => isBlank(field.item, item));
  if (field.kind === "variant") {
    const { variant, value: inner } = value as { variant: number; value: Value };
    return isBlank(field.variants[variant]!, inner);
  }
  if (field.kind !== "object") return true;
  return field.fields.every((inner) => isBlank(inner, (value as { [name: string]: Value })[inner.name]));
}

function fits(field: Field, json: Json): boolean {
  switch (field.kind) {
    case "text":
      return typeof json === "string";
    case "number":
      return typeof json === "number" && (!field.integer || Number.isInteger(json));
    case "boolean":
      return typeof json === "boolean";
    case "choice":
      return field.choices.some((one) => equal(one.value, json));
    case "list":
      return Array.isArray(json) && json.every((item) => fits(field.item, item));
    case "object": {
      if (!isObject(json)) return false;
      const names = new Set(field.fields.map((inner) => inner.name));
      return field.fields.every((inner) => !inner.required || Object.hasOwn(json, inner.name)) && Object.keys(json).every((name) => names.has(name));
    }
    case "variant":
      return field.variants.some((one) => fits(one, json));
    case "json":
      return true;
  }
}

function equal(one: Json, other: Json): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function plain(json: Json): string {
  return typeof json === "string" ? json : JSON.stringify(json);
}

function own(object: { [name: string]: Json }, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Set a member also when it is called `__proto__`. */
function define(object: { [name: string]: Json }, name: string, value: Json): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}
