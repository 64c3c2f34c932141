// Parts of a `select` that a person chooses, as text and back. docs/reference/select.md describes the language: its steps
// apply in the order written, so a part that stands where the builder would not write it is kept word for word.

export type Operator = "=" | "!=" | ">" | ">=" | "<" | "<=" | "contains" | "starts with" | "in" | "is null" | "is not null";

export const OPERATORS: Operator[] = ["=", "!=", ">", ">=", "<", "<=", "contains", "starts with", "in", "is null", "is not null"];

export type Filter = { column: string; operator: Operator; value: string };

export type Aggregate = { name: string; column: string };

/** Functions of all rows; `count` needs no column. */
export const FUNCTIONS = ["max", "min", "mean", "sum", "median", "stddev", "first", "last", "count"];

/** Parts of a date by which rows are grouped. */
export const TIME_UNITS = ["year", "quarter", "month", "week", "weekday", "day"];

/** Which rows, of those that the filters leave. */
export type Rows = { kind: "all" | "last" | "first" | "limit" | "top" | "bottom"; count: string; by: string };

export type SelectModel = {
  /** One of several tables; empty: the only one. */
  table: string;
  /** Columns that are shown; empty: all. */
  columns: string[];
  filters: Filter[];
  /** A period as it is written: "2025", "last 6 months", "since 2025-03-01". */
  period: string;
  order: { column: string; descending: boolean };
  rows: Rows;
  aggregates: Aggregate[];
  group: string;
  /** What the builder has no control for, as it was written. */
  rest: string;
};

export const EMPTY_SELECT: SelectModel = {
  table: "",
  columns: [],
  filters: [],
  period: "",
  order: { column: "", descending: false },
  rows: { kind: "all", count: "10", by: "" },
  aggregates: [],
  group: "",
  rest: "",
};

/** Characters that a `select` may have. */
export const MAX_SELECT = 4000;

const PLAIN_NAME = /^[A-Za-z_]\w*$/;

/** Words with a meaning of their own in a step: a column of such a name is quoted. */
const WORDS = new Set(
  (
    "after all and any as asc average avg before between both bottom by case cast columns contains corr count cross date day desc distinct earliest else end ends everything except exists false fields " +
    "filter first for from full group having head highest hour in inner is join lag largest last latest least left like limit lowest max mean median min minute month most mtd natural newest next not " +
    "null of offset oldest on or order outer over percentile previous qtd quarter rank right row rows select show since smallest sort starts stddev sum table tail take then this to top true union " +
    "unique until using values variance week weekday when where with year ytd"
  ).split(" "),
);

/** Return a name as it is written in a `select`. */
export function quoteName(name: string): string {
  return PLAIN_NAME.test(name) && !WORDS.has(name.toLowerCase()) ? name : `"${name.replaceAll('"', '""')}"`;
}

const NUMBER = /^-?\d+(\.\d+)?$/;

const DATE = /^\d{4}(-\d{2}){0,2}$/;

function quoteValue(value: string): string {
  const text = value.trim();
  return NUMBER.test(text) || DATE.test(text) ? text : `'${text.replaceAll("'", "''")}'`;
}

/** Return the `select` of a model; empty where it selects everything. Groups are sorted and counted, other rows before functions. */
export function selectText(model: SelectModel): string {
  const functions = model.aggregates.filter(({ name, column }) => name && (column || name === "count"));
  const isGrouped = functions.length > 0 && model.group !== "";
  const rows = [model.order.column && `order by ${orderName(model.order.column)}${model.order.descending ? " desc" : ""}`, rowsText(model.rows)];
  const parts = [
    model.table && `from ${quoteName(model.table)}`,
    ...model.filters.map(filterText),
    model.period.trim(),
    ...(isGrouped ? [] : rows),
    functions.length ? functions.map(aggregateText).join(", ") + (isGrouped ? ` by ${groupName(model.group)}` : "") : model.columns.map(quoteName).join(", "),
    ...(isGrouped ? rows : []),
    model.rest.trim(),
  ];
  return parts.filter(Boolean).join("; ");
}

function groupName(group: string): string {
  return TIME_UNITS.includes(group) ? group : quoteName(group);
}

/** Return a function as it is written, which is also the name of its column. */
export function aggregateText({ name, column }: Aggregate): string {
  return name === "count" && !column ? "count" : `${name}(${quoteName(column)})`;
}

/** Return what is sorted by: a column, or one of the functions as it is written. */
function orderName(column: string): string {
  return /^[a-z_]+\(.*\)$/.test(column) ? column : quoteName(column);
}

function filterText({ column, operator, value }: Filter): string {
  if (!column) return "";
  const name = quoteName(column);
  if (operator === "is null" || operator === "is not null") return `${name} ${operator}`;
  if (!value.trim()) return "";
  if (operator === "in") {
    const values = value.split(",").map((one) => one.trim()).filter(Boolean);
    return `${name} in (${values.map(quoteValue).join(", ")})`;
  }
  return `${name} ${operator} ${quoteValue(value)}`;
}

function rowsText({ kind, count, by }: Rows): string {
  const number = /^\d{1,9}$/.test(count.trim()) ? Number(count.trim()) : 0;
  if (kind === "all" || number < 1) return "";
  if (kind === "top" || kind === "bottom") return by ? `${kind} ${number} by ${orderName(by)}` : "";
  return `${kind} ${number}`;
}

// Back from text

const NAME = String.raw`(?:"(?:[^"]|"")+"|[A-Za-z_]\w*)`;
const VALUE = String.raw`(?:'(?:[^']|'')*'|-?\d[\w.:-]*)`;

const FORMS = {
  table: new RegExp(`^from (${NAME})$`, "i"),
  top: new RegExp(`^(top|bottom) (\\d{1,9}) by (${NAME}|[a-z_]+\\(${NAME}?\\))$`, "i"),
  rows: /^(last|first|limit) (\d{1,9})$/i,
  order: new RegExp(`^order by (${NAME}|[a-z_]+\\(${NAME}?\\))( desc| asc)?$`, "i"),
  isNull: new RegExp(`^(${NAME}) is (not )?null$`, "i"),
  inList: new RegExp(`^(${NAME}) in \\((.*)\\)$`, "i"),
  words: new RegExp(`^(${NAME}) (contains|starts with) (${VALUE})$`, "i"),
  signs: new RegExp(`^(${NAME}) ?(!=|>=|<=|=|>|<) ?(${VALUE})$`),
  columns: new RegExp(`^${NAME}(?:, ?${NAME})*$`),
  functions: new RegExp(`^(?:[a-z_]+\\(${NAME}\\)|count)(?:, ?(?:[a-z_]+\\(${NAME}\\)|count))*(?: by (${NAME}))?$`),
  period:
    /^(?:(?:last|past|this) (?:\d+ )?(?:days?|weeks?|months?|quarters?|years?)|ytd|\d{4}(?:-\d{2}){0,2}(?:\.\.\d{4}(?:-\d{2}){0,2})?|Q[1-4] \d{4}|(?:since|until|after|before) \d{4}(?:-\d{2}){0,2})$/i,
};

/** Return the model of a `select`. What it cannot show, and what follows that, is `rest`, word for word. */
export function parseSelect(text: string): SelectModel {
  const model: SelectModel = structuredClone(EMPTY_SELECT);
  const parts = splitParts(text);
  const shown = parts.findIndex((part, index) => !readPart(part, index, model));
  model.rest = shown < 0 ? "" : parts.slice(shown).join("; ");
  return model;
}

/** Add a part to the model; false where it is none of its parts, or stands where it means something else. */
function readPart(part: string, index: number, model: SelectModel): boolean {
  const hasRows = model.rows.kind !== "all";
  const isBeforeRows = !hasRows && !model.aggregates.length;
  const mayLimit = !hasRows && (!model.aggregates.length || model.group !== "");
  let found: RegExpExecArray | null;
  if ((found = FORMS.table.exec(part)) && index === 0) model.table = unquote(found[1]!);
  else if ((found = FORMS.period.exec(part)) && isBeforeRows && !model.period) model.period = part;
  else if ((found = FORMS.top.exec(part)) && mayLimit && !model.order.column) model.rows = { kind: found[1]!.toLowerCase() as Rows["kind"], count: found[2]!, by: unquote(found[3]!) };
  else if ((found = FORMS.rows.exec(part)) && mayLimit) model.rows = { kind: found[1]!.toLowerCase() as Rows["kind"], count: found[2]!, by: "" };
  else if ((found = FORMS.order.exec(part)) && mayLimit && !model.order.column) model.order = { column: unquote(found[1]!), descending: /desc/i.test(found[2] ?? "") };
  else if ((found = FORMS.isNull.exec(part)) && isBeforeRows) model.filters.push({ column: unquote(found[1]!), operator: found[2] ? "is not null" : "is null", value: "" });
  else if ((found = FORMS.inList.exec(part)) && isBeforeRows) model.filters.push({ column: unquote(found[1]!), operator: "in", value: splitList(found[2]!).map(unquote).join(", ") });
  else if ((found = FORMS.words.exec(part) ?? FORMS.signs.exec(part)) && isBeforeRows) model.filters.push({ column: unquote(found[1]!), operator: found[2]!.toLowerCase() as Operator, value: unquote(found[3]!) });
  else if ((found = FORMS.functions.exec(part)) && !model.aggregates.length && !model.columns.length && !(found[1] && (hasRows || model.order.column)) && readFunctions(part, model)) model.group = found[1] ? unquote(found[1]) : "";
  else if (FORMS.columns.test(part) && !model.columns.length && !model.aggregates.length && splitList(part).every((name) => name.startsWith('"') || !WORDS.has(name.toLowerCase()))) model.columns = splitList(part).map(unquote);
  else return false;
  return true;
}

function readFunctions(part: string, model: SelectModel): boolean {
  const calls = splitList(part.replace(new RegExp(` by ${NAME}$`), ""));
  const found = calls.map((call) => /^([a-z_]+)(?:\((.*)\))?$/.exec(call));
  if (!found.every((one) => one && FUNCTIONS.includes(one[1]!))) return false;
  model.aggregates = found.map((one) => ({ name: one![1]!, column: one![2] ? unquote(one![2]) : "" }));
  return true;
}

/** Return the parts between semicolons that are in no quotation marks. */
function splitParts(text: string): string[] {
  return split(text, ";");
}

function splitList(text: string): string[] {
  return split(text, ",");
}

function split(text: string, separator: string): string[] {
  const parts: string[] = [];
  let quoted = "";
  let from = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const character = text[at];
    if (quoted) {
      if (character === quoted) quoted = "";
    } else if (character === '"' || character === "'") quoted = character;
    else if (character === separator) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  parts.push(text.slice(from).trim());
  return parts.filter(Boolean);
}

function unquote(text: string): string {
  const trimmed = text.trim();
  const mark = trimmed[0];
  return (mark === '"' || mark === "'") && trimmed.length > 1 && trimmed.endsWith(mark) ? trimmed.slice(1, -1).replaceAll(mark + mark, mark) : trimmed;
}
