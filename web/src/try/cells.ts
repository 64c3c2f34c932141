// Cells of a table: as text, and in order.

import type { Json } from "../api-types";
import type { Table } from "./tables";

const PLAIN = new Intl.NumberFormat("en", { maximumFractionDigits: 20, useGrouping: "min2" });

/** Characters of a cell that are shown in the table; the rest is in the details of the row. */
const MAX_SHOWN = 240;

/** Return a number with all its digits, in groups where it has five or more. */
export function numberText(value: number): string {
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-6 || size >= 1e15) ? String(value) : PLAIN.format(value);
}

/** Return the text of a cell, shortened. */
export function cellText(value: Json): string {
  const text = fullText(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** Return the whole text of a cell. */
export function fullText(value: Json): string {
  if (typeof value === "number") return numberText(value);
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "(nested too deeply to be shown in a line)";
  }
}

export type Order = { column: number; descending: boolean };

/** Return the indexes of the rows in an order; cells without a value are last. Equal rows keep their order. */
export function orderOf(table: Table, order: Order | null): number[] {
  const indexes = table.rows.map((_, index) => index);
  if (!order) return indexes;
  const { column, descending } = order;
  const sign = descending ? -1 : 1;
  if (table.columns[column]?.type === "number") {
    const value = (index: number) => table.rows[index]![column] as number | null;
    return indexes.sort((one, other) => missing(value(one), value(other)) ?? sign * (value(one)! - value(other)!));
  }
  const texts = table.rows.map((row) => (row[column] === null || row[column] === undefined ? null : fullText(row[column]!)));
  const { compare } = new Intl.Collator("en", { numeric: true });
  return indexes.sort((one, other) => missing(texts[one], texts[other]) ?? sign * compare(texts[one]!, texts[other]!));
}

function missing(one: unknown, other: unknown): number | undefined {
  const first = one === null || one === undefined;
  const second = other === null || other === undefined;
  return first || second ? Number(first) - Number(second) : undefined;
}

/** Rows of which the width of a column is read. */
const MEASURED = 60;

/** Return the width of each column in characters, from its name and some cells. */
export function columnWidths(table: Table): number[] {
  const step = Math.max(1, Math.floor(table.rows.length / MEASURED));
  return table.columns.map(({ name }, index) => {
    let widest = name.length + 2;
    for (let at = 0; at < table.rows.length; at += step) widest = Math.max(widest, cellText(table.rows[at]![index] ?? null).length + 1);
    return Math.min(Math.max(widest, 6), 44) + 2; // the padding of a cell
  });
}

/** Return a table as CSV (RFC 4180). */
export function csvOf(table: Table): string {
  const quote = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const cell = (value: Json) => (value === null || value === undefined ? "" : typeof value === "number" ? String(value) : quote(fullText(value)));
  return [table.columns.map(({ name }) => quote(name)).join(","), ...table.rows.map((row) => row.map(cell).join(","))].join("\r\n");
}
