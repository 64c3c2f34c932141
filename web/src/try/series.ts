// Series in a table: a column of times, and columns of numbers.

import type { Json } from "../api-types";
import type { Column, FieldValue, Table } from "./tables";
import { type Time, offsetName, parseTime, timeOfNumber } from "./times";

export type Line = {
  name: string;
  values: (number | null)[];
  /** The axis that the values fit: lines of one axis have values of a similar size. */
  axis: number;
  /** Whether it is shown before anyone chooses. */
  shown: boolean;
  /** Number of its colour and dashes: those that are shown first have the first. */
  style: number;
};

export type Series = {
  /** Name of the column of times. */
  time: string;
  /** Seconds since 1970, ascending, each once. */
  seconds: number[];
  lines: Line[];
  precision: Time["precision"];
  /** Minutes that are added to show a time: the offset that all times have, else 0. */
  offset: number;
  /** What the times are in: "UTC", "US/Eastern", "the time zone of the source"; empty for days and longer. */
  zone: string;
};

/** Share of rows that must have a time. */
const MIN_TIMES = 0.9;

const MAX_LINES = 40;

/** Lines that are shown at first. */
const MAX_SHOWN = 6;

/** Values of one axis differ by this factor at most; beyond it the smaller line is flat. */
const MAX_RATIO = 12;

/** Columns of bars. */
const PRICES = ["open", "high", "low", "close"];

/** Columns that people look for, before all others. */
const FIRST = /^(adjusted_?close|close|price|value|last)$|\b(close|price|value)$/i;

/** Return the series of a table, or null where it has none. `gap`: the index of the row before which others are left out. */
export function seriesOf(table: Table, fields: FieldValue[] = [], gap?: number): Series | null {
  if (table.rows.length < 2) return null;
  const columnsOf = (type: Column["type"]) => table.columns.flatMap((column, index) => (column.type === type ? [index] : []));
  for (const index of [...columnsOf("time"), ...columnsOf("number")]) {
    const found = seriesBy(table, index, fields, gap);
    if (found) return found;
  }
  return null;
}

function seriesBy(table: Table, timeIndex: number, fields: FieldValue[], gap?: number): Series | null {
  const times = table.rows.map((row) => timeOf(table.columns[timeIndex]!.name, row[timeIndex]));
  const known = times.filter((time): time is Time => time !== null);
  if (known.length < 2 || known.length < table.rows.length * MIN_TIMES) return null;
  const numbers = table.columns.flatMap((column, index) => (column.type === "number" && index !== timeIndex ? [index] : []));
  if (!numbers.length) return null;
  const distinct = new Set(known.map(({ seconds }) => seconds));
  const columns = distinct.size === known.length ? numbers.map((index) => ({ name: table.columns[index]!.name, index, of: null })) : byLabel(table, timeIndex, numbers, times, distinct);
  if (!columns || distinct.size < 2) return null;
  const before = gap ? times[gap - 1] : null;
  const after = gap ? times[gap] : null;
  // A point without values, at which the lines end.
  const breaks = before && after ? [(before.seconds + after.seconds) / 2] : [];
  const seconds = [...new Set([...distinct, ...breaks])].sort((one, other) => one - other);
  const place = new Map(seconds.map((value, index) => [value, index]));
  const lines = columns.slice(0, MAX_LINES).map(({ name, index, of }) => {
    const values: (number | null)[] = new Array(seconds.length).fill(null);
    table.rows.forEach((row, at) => {
      const time = times[at];
      if (time && typeof row[index] === "number" && (of === null || row[of.index] === of.label)) values[place.get(time.seconds)!] = row[index] as number;
    });
    return { name, values, axis: 0, shown: false, style: 0 };
  });
  return { time: table.columns[timeIndex]!.name, seconds, lines: withAxes(lines.filter((line) => line.values.some((value) => value !== null))), ...clock(known, fields) };
}

function timeOf(name: string, cell: Json | undefined): Time | null {
  if (typeof cell === "string") return parseTime(cell);
  return typeof cell === "number" ? timeOfNumber(name, cell) : null;
}

type LineColumn = { name: string; index: number; of: { index: number; label: Json } | null };

/** Return the columns of a table whose rows are of several things: a line for each label of a column of texts. */
function byLabel(table: Table, timeIndex: number, numbers: number[], times: (Time | null)[], distinct: Set<number>): LineColumn[] | null {
  for (const [index, column] of table.columns.entries()) {
    if (index === timeIndex || (column.type !== "text" && !(column.type === "number" && index < timeIndex))) continue;
    const labels = [...new Set(table.rows.map((row) => row[index] as Json))];
    if (labels.length < 2 || labels.length * distinct.size < table.rows.length || labels.length > MAX_LINES) continue;
    const pairs = new Set(table.rows.map((row, at) => `${times[at]?.seconds} ${String(row[index])}`));
    if (pairs.size !== table.rows.length) continue;
    const rest = numbers.filter((one) => one !== index);
    return labels.flatMap((label) => rest.map((one) => ({ name: rest.length > 1 ? `${label} ${table.columns[one]!.name}` : String(label), index: one, of: { index, label } })));
  }
  return null;
}

function withAxes(lines: Line[]): Line[] {
  const ordered = [...lines].sort((one, other) => Number(FIRST.test(other.name)) - Number(FIRST.test(one.name)));
  const sizes: number[] = [];
  for (const line of ordered) {
    const size = sizeOf(line.values);
    const fitting = sizes.findIndex((other) => size === 0 || other === 0 || Math.max(size, other) / Math.min(size, other) <= MAX_RATIO);
    line.axis = fitting < 0 ? sizes.push(size) - 1 : fitting;
  }
  // Of the four prices of a bar, the last is what people look for.
  const isBars = PRICES.every((price) => lines.some(({ name }) => endsWith(name, price)));
  let left = MAX_SHOWN;
  for (const line of ordered) line.shown = line.axis === 0 && (!isBars || endsWith(line.name, "close")) && left-- > 0;
  for (const [style, line] of [...lines].sort((one, other) => Number(other.shown) - Number(one.shown)).entries()) line.style = style;
  return lines;
}

function endsWith(name: string, price: string): boolean {
  return name.toLowerCase().split(/[^a-z]+/).at(-1) === price;
}

/** Return the typical size of values: their mean distance from 0. */
function sizeOf(values: (number | null)[]): number {
  let sum = 0;
  let known = 0;
  for (const value of values) {
    if (value === null) continue;
    sum += Math.abs(value);
    known += 1;
  }
  return known ? sum / known : 0;
}

function clock(times: Time[], fields: FieldValue[]): { precision: Time["precision"]; offset: number; zone: string } {
  const order: Time["precision"][] = ["year", "quarter", "month", "day", "time"];
  const precision = order[Math.max(...times.map((time) => order.indexOf(time.precision)))]!;
  if (precision !== "time") return { precision, offset: 0, zone: "" };
  const offsets = new Set(times.map((time) => time.offset));
  const [offset] = offsets;
  if (!offsets.has(undefined)) return { precision, offset: offsets.size === 1 ? offset! : 0, zone: offsetName(offsets.size === 1 ? offset! : 0) };
  const stated = fields.find(([name, value]) => /time.?zone/i.test(name) && typeof value === "string");
  return { precision, offset: 0, zone: stated ? String(stated[1]).slice(0, 60) : "the time zone of the source" };
}

/** Return the time of a point as the answer has it. */
export function timeText(series: Series, index: number): string {
  const date = new Date((series.seconds[index]! + series.offset * 60) * 1000).toISOString();
  if (series.precision === "year") return date.slice(0, 4);
  if (series.precision === "quarter") return `${date.slice(0, 4)}-Q${Math.floor(Number(date.slice(5, 7)) / 3.01) + 1}`;
  if (series.precision === "month") return date.slice(0, 7);
  if (series.precision === "day") return date.slice(0, 10);
  return `${date.slice(0, 19).replace("T", " ")} ${series.zone}`;
}
