// Tables and records in the data of an answer.

import type { Json } from "../api-types";
import { isObject } from "./schema-reader";
import { parseTime } from "./times";

export type ColumnType = "number" | "time" | "boolean" | "text" | "json" | "empty";

export type Column = { name: string; type: ColumnType };

export type Table = {
  /** Empty for the only table of an answer. */
  name: string;
  columns: Column[];
  rows: Json[][];
};

/** Name and value of what is beside the tables, or of a single record. */
export type FieldValue = [name: string, value: Json];

export type Shape = { tables: Table[]; fields: FieldValue[] };

/** Tables that are made of one answer; an object may have thousands of lists. */
const MAX_TABLES = 50;

/** Rows of which the type of a column is read. All rows are of one type where toolfold made the table. */
const MAX_TYPED_ROWS = 5000;

/** Return the tables of the `result` of TOOL_CALL, and the fields beside them. */
export function shapeOf(result: Json | undefined): Shape {
  if (result === undefined || result === null) return { tables: [], fields: [] };
  if (isTable(result)) {
    const { columns: _columns, rows: _rows, row_count: _count, meta, ...beside } = result;
    return { tables: [namedTable("", result)], fields: [...fieldsOf(meta), ...Object.entries(beside)] };
  }
  if (isObject(result) && isObject(result.tables) && Object.values(result.tables).every(isTable)) {
    const tables = Object.entries(result.tables).slice(0, MAX_TABLES).map(([name, table]) => namedTable(name, table as TableData));
    return { tables, fields: fieldsOf(result.meta) };
  }
  if (Array.isArray(result)) return { tables: result.length ? [tableOfList("", result)] : [], fields: [] };
  if (isObject(result)) return ofObject(result);
  return { tables: [], fields: [["", result]] };
}

/** Return the table of records of text, of which the first has the names; numbers become numbers. */
export function tableOfRecords(records: string[][]): Table {
  const [names = [], ...rest] = records;
  const isNumeric = names.map((_, index) => rest.every((record) => !record[index] || isPlainNumber(record[index]!)));
  const rows = rest.map((record) => record.map((cell, index) => (cell === "" ? null : isNumeric[index] ? Number(cell) : cell)));
  return { name: "", columns: typed(names, rows), rows };
}

function isPlainNumber(text: string): boolean {
  return text.length <= 16 && /^-?(0|[1-9]\d*)(\.\d+)?(e[-+]?\d+)?$/i.test(text);
}

type TableData = { columns: Json[]; rows: Json[]; [name: string]: Json };

function isTable(value: Json | undefined): value is TableData {
  return isObject(value) && Array.isArray(value.columns) && Array.isArray(value.rows) && value.rows.every(Array.isArray);
}

function namedTable(name: string, { columns, rows }: TableData): Table {
  return { name, columns: typed(columns.map((one) => (typeof one === "string" ? one : JSON.stringify(one))), rows as Json[][]), rows: rows as Json[][] };
}

function ofObject(result: { [name: string]: Json }): Shape {
  const shape: Shape = { tables: [], fields: [] };
  const byKey = tableOfMembers("", result);
  if (byKey) return { tables: [byKey], fields: [] };
  for (const [name, value] of Object.entries(result)) {
    const table = shape.tables.length < MAX_TABLES ? innerTable(name, value) : null;
    if (table) shape.tables.push(table);
    else shape.fields.push([name, value]);
  }
  return shape;
}

function innerTable(name: string, value: Json): Table | null {
  if (Array.isArray(value)) return value.length && value.every(isObject) ? tableOfList(name, value) : null;
  return isObject(value) ? tableOfMembers(name, value) : null;
}

/** Return the table of an object whose members are dates with objects, as upstreams send series. */
function tableOfMembers(name: string, value: { [key: string]: Json }): Table | null {
  const keys = Object.keys(value);
  if (keys.length < 2 || !keys.every((key) => parseTime(key)) || !Object.values(value).every(isObject)) return null;
  const inner = tableOfList(name, Object.values(value));
  const rows = inner.rows.map((row, index) => [keys[index]!, ...row]);
  return { name, columns: [{ name: "time", type: "time" }, ...inner.columns], rows };
}

/** Return a table of a list: a column for each member of its objects, else one column. */
function tableOfList(name: string, items: Json[]): Table {
  if (!items.every(isObject)) {
    if (items.every((item) => Array.isArray(item) && item.length === (items[0] as Json[]).length) && items.length > 1) {
      const rows = items as Json[][];
      return { name, columns: typed(rows[0]!.map((_, index) => String(index + 1)), rows), rows };
    }
    const rows = items.map((item) => [item]);
    return { name, columns: typed(["value"], rows), rows };
  }
  const names = new Map<string, number>();
  for (const item of items.slice(0, MAX_TYPED_ROWS)) for (const key of Object.keys(item)) if (!names.has(key)) names.set(key, names.size);
  const keys = [...names.keys()];
  const rows = items.map((item) => keys.map((key) => (Object.hasOwn(item, key) ? item[key]! : null)));
  const read = rows.map((row) => row.map(numberIn));
  const numeric = keys.map((_, index) => read.every((row) => row[index] === null || typeof row[index] === "number") && read.some((row) => row[index] !== null));
  const cells = rows.map((row, at) => row.map((cell, index) => (numeric[index] ? read[at]![index]! : cell)));
  return { name, columns: typed(keys, cells), rows: cells };
}

/** Return the number that an upstream wrote as text: "261.0500". */
function numberIn(cell: Json): Json {
  return typeof cell === "string" && isPlainNumber(cell) ? Number(cell) : cell;
}

function fieldsOf(meta: Json | undefined): FieldValue[] {
  if (meta === undefined || meta === null) return [];
  return isObject(meta) ? Object.entries(meta) : [["", meta]];
}

function typed(names: string[], rows: Json[][]): Column[] {
  const read = rows.slice(0, MAX_TYPED_ROWS);
  return names.map((name, index) => ({ name, type: typeOf(read, index, name) }));
}

function typeOf(rows: Json[][], index: number, name: string): ColumnType {
  const found = new Set<ColumnType>();
  for (const row of rows) {
    const cell = row[index];
    if (cell === null || cell === undefined) continue;
    found.add(typeof cell === "object" ? "json" : typeof cell === "string" ? (parseTime(cell) ? "time" : "text") : (typeof cell as "number" | "boolean"));
    if (found.has("json") || found.size > 1) break;
  }
  const [only] = found;
  if (found.size === 1 && only === "time" && !isDateName(name) && rows.every((row) => /^\d{4}$/.test(String(row[index] ?? "")))) return "text";
  return found.has("json") ? "json" : found.size === 1 ? only! : found.size ? "text" : "empty";
}

/** Four digits are a year in a column that is named so, else a number that somebody wrote as text. */
function isDateName(name: string): boolean {
  return /date|time|year|period|day/i.test(name);
}
