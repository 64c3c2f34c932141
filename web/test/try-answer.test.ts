import assert from "node:assert/strict";
import { test } from "node:test";

import type { Json } from "../src/api-types";
import type { ToolAnswer } from "../src/mcp";
import { answerOf, gapOf, proposedSelects } from "../src/try/answer";
import { parseCsv, parseMarkdownTable } from "../src/try/delimited";
import { seriesOf } from "../src/try/series";
import { shapeOf, tableOfRecords } from "../src/try/tables";
import { parseTime } from "../src/try/times";
import { hasMarks, piecesOf, wrapLines } from "../src/try/visible";

const answer = (structured: Json | undefined, text = "", more: Partial<ToolAnswer> = {}) =>
  answerOf({ text, content: [{ type: "text", text }], structured, isError: false, meta: {}, ms: 1, bytes: 1, ...more });
const types = (table: { columns: { type: string }[] } | undefined) => table?.columns.map(({ type }) => type);

test("toolfold's table is a table with typed columns", () => {
  const { tables, fields } = answer({ result: { columns: ["timestamp", "close", "note"], rows: [["2026-01-13", 303.02, null], ["2026-01-12", null, "x"]], row_count: 2, meta: { unit: "USD" } }, cached: false, age_s: 0 });
  assert.deepEqual(types(tables[0]), ["time", "number", "text"]);
  assert.deepEqual(fields, [["unit", "USD"]]);
});

test("several tables, a record, a list and a scalar have their shapes", () => {
  assert.deepEqual(shapeOf({ tables: { annual: { columns: ["a"], rows: [[1]], row_count: 1 }, quarterly: { columns: ["a"], rows: [], row_count: 0 } }, meta: { symbol: "IBM" } }).tables.map(({ name }) => name), ["annual", "quarterly"]);
  assert.deepEqual(shapeOf({ symbol: "IBM", price: 303 }).fields, [["symbol", "IBM"], ["price", 303]]);
  assert.deepEqual(shapeOf([{ a: 1 }, { b: "x" }]).tables[0]?.rows, [[1, null], [null, "x"]]);
  assert.deepEqual(shapeOf([1, 2]).tables[0]?.rows, [[1], [2]]);
  assert.deepEqual(shapeOf([]), { tables: [], fields: [] });
  assert.deepEqual(shapeOf(7).fields, [["", 7]]);
});

test("the series of an upstream's own JSON is a table of numbers", () => {
  const { tables, fields } = shapeOf({ "Meta Data": { "5. Time Zone": "US/Eastern" }, "Time Series (Daily)": { "2026-01-13": { "1. open": "301.8700" }, "2026-01-12": { "1. open": "309.6600" } } });
  assert.deepEqual(tables[0]?.rows, [["2026-01-13", 301.87], ["2026-01-12", 309.66]]);
  assert.equal(fields[0]?.[0], "Meta Data");
});

test("text of CSV, Markdown and JSON is read, other text is prose", () => {
  assert.deepEqual(answer({ result: "a,b\n1,\"x,\"\"y\"\"\"\n" }).tables[0]?.rows, [[1, 'x,"y"']]);
  assert.deepEqual(answer(undefined, "# cached 12 min ago\na,b\n1,2\n3,4").tables[0]?.rows, [[1, 2], [3, 4]]);
  assert.deepEqual(answer(undefined, "Found:\n\n| a | b |\n|---|--:|\n| 1 | x\\|y |\n").tables[0]?.rows, [[1, "x|y"]]);
  assert.deepEqual(answer(undefined, '{"a": 1}').fields, [["a", 1]]);
  assert.equal(answer(undefined, "Dear reader, hello.\nBye, then.").prose, "Dear reader, hello.\nBye, then.");
  assert.equal(answer({ result: "plain" }).prose, "plain");
  assert.equal(answer({ result: "[not json" }).prose, "[not json");
});

test("CSV is read after RFC 4180, and ragged text is no table", () => {
  assert.deepEqual(parseCsv('a,b\r\n"x\ny",""\r\n'), [["a", "b"], ["x\ny", ""]]);
  assert.deepEqual(parseCsv("a,b\n1,"), [["a", "b"], ["1", ""]]);
  assert.equal(parseCsv("a,b\n1,2,3"), null);
  assert.equal(parseCsv('a,b\n"open,2'), null);
  assert.equal(parseCsv("one line, only"), null);
  assert.equal(parseMarkdownTable("no | table"), null);
  assert.deepEqual(types(tableOfRecords([["id", "n"], ["007", "1"], ["008", ""]])), ["text", "number"]);
});

test("what an answer lacks is stated first", () => {
  const { notes } = answer({ result: { columns: [], rows: [], row_count: 0 }, late: "RATE_LIMITED", preview: { rows_shown: 2, rows_total: 6557, left_out: "rows 3-6557", full: { tokens: 180000 } }, notes: ["NOSUCHX failed: NO_DATA. No data.", "Asked for 400 rows; the data have 313."] });
  assert.deepEqual(notes.map(({ kind }) => kind), ["stale", "preview", "failed", "note"]);
  assert.match(notes[1]!.text, /2 of 6,557 rows.*180,000 tokens/);
  assert.deepEqual(proposedSelects({ preview: { ask_less: 'select="close; last 20" (about 9 tokens) or select="from \\"a b\\"; max(x)" (about 2 tokens)' } }), ["close; last 20", 'from "a b"; max(x)']);
});

test("an error has its code, its next step and the call that works", () => {
  const { error, tables } = answer({ error: { code: "TOOL_NOT_FOUND", message: "There is no tool.", suggestion: "Did you mean X?", next_call: { TOOL_CALL: { tool_name: "X", arguments: {} } } } }, "{}", { isError: true });
  assert.deepEqual([error?.code, error?.suggestion, error?.nextCall?.tool, tables.length], ["TOOL_NOT_FOUND", "Did you mean X?", "TOOL_CALL", 0]);
  assert.equal(answer(undefined, "went wrong", { isError: true }).error?.message, "went wrong");
  assert.equal(answer({ error: { code: "APPROVAL_REQUIRED", message: "m", prompt: "Allow?", approval_token: "t", expires_at: "e" } }, "", { isError: true }).error?.approval?.token, "t");
  assert.equal(answer({ result: { error: "a field of the data" } }).error, null);
});

test("only images of known types are shown as images", () => {
  const block = (mimeType: string, data: string) => answer({ result: "x" }, "x", { content: [{ type: "text", text: "x" }, { type: "image", mimeType, data }] }).blocks[0];
  assert.equal(block("image/png", "AAAA")?.image, "data:image/png;base64,AAAA");
  for (const [type, data] of [["image/svg+xml", "AAAA"], ["text/html", "AAAA"], ["image/png", '"><script>'], ["image/png;x", "AAAA"]] as const) assert.equal(block(type, data)?.image, "");
});

test("100,000 rows, 5 MB of text and deep JSON are read in less than two seconds of processor time", () => {
  const begin = process.cpuUsage();
  const rows = Array.from({ length: 100_000 }, (_, index) => [new Date(index * 86_400_000).toISOString().slice(0, 10), index, "x"]);
  assert.equal(seriesOf(shapeOf({ columns: ["d", "n", "s"], rows, row_count: rows.length }).tables[0]!)?.seconds.length, 100_000);
  assert.equal(answer({ result: "x".repeat(5_000_000) }).prose.length, 5_000_000);
  assert.equal(wrapLines("y".repeat(5_000_000), 100).length, 50_000);
  const deep = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`) as Json;
  assert.equal(shapeOf({ deep }).fields.length, 1);
  const { user, system } = process.cpuUsage(begin);
  assert.ok((user + system) / 1e6 < 2, `${(user + system) / 1e6} s`);
});

test("dates and times are read as they are written", () => {
  assert.equal(parseTime("2026-01-13")?.precision, "day");
  assert.equal(parseTime("2026-Q1")?.seconds, Date.UTC(2026, 0, 1) / 1000);
  assert.equal(parseTime("2026-01-13T19:55:00")?.seconds, Date.UTC(2026, 0, 13, 19, 55) / 1000);
  assert.equal(parseTime("2026-01-13T19:55:00+05:30")?.seconds, Date.UTC(2026, 0, 13, 14, 25) / 1000);
  assert.equal(parseTime("2026-01-13 19:55:00.5Z")?.seconds, Date.UTC(2026, 0, 13, 19, 55) / 1000 + 0.5);
  assert.equal(parseTime("0099-01-01")?.seconds, -59042995200);
  for (const text of ["2026-13-01", "2026-02-30", "20260113", "IBM", "2026-01-13T25:00", ""]) assert.equal(parseTime(text), null, text);
});

const table = (columns: string[], rows: Json[][]) => shapeOf({ columns, rows, row_count: rows.length }).tables[0]!;

test("prices are a series, and volumes have an axis of their own", () => {
  const series = seriesOf(table(["timestamp", "open", "close", "volume"], [["2026-01-13", 301, 303, 27647298], ["2026-01-12", 309, 300, 39947121]]));
  assert.deepEqual(series?.lines.map(({ name, axis, shown }) => [name, axis, shown]), [["open", 0, true], ["close", 0, true], ["volume", 1, false]]);
  assert.deepEqual(series?.lines[1]?.values, [300, 303]);
  assert.deepEqual([series?.precision, series?.zone], ["day", ""]);
});

test("times keep the zone that the answer states", () => {
  const rows = (zone: string): Json[][] => [[`2026-01-13T10:00:00${zone}`, 1], [`2026-01-13T11:00:00${zone}`, 2]];
  assert.equal(seriesOf(table(["t", "v"], rows("Z")))?.zone, "UTC");
  assert.deepEqual([seriesOf(table(["t", "v"], rows("-05:00")))?.zone, seriesOf(table(["t", "v"], rows("-05:00")))?.offset], ["UTC-05:00", -300]);
  assert.equal(seriesOf(table(["t", "v"], rows("")), [["Time Zone", "US/Eastern"]])?.zone, "US/Eastern");
});

test("rows of several things are a line for each", () => {
  const series = seriesOf(table(["symbol", "date", "close"], [["IBM", "2026-01-13", 1], ["AAPL", "2026-01-13", 2], ["IBM", "2026-01-12", 3], ["AAPL", "2026-01-12", 4]]));
  assert.deepEqual(series?.lines.map(({ name, values }) => [name, values]), [["IBM", [3, 1]], ["AAPL", [4, 2]]]);
});

test("numbers that are years, or seconds since 1970, are times below such a name", () => {
  const years = seriesOf(table(["fiscal_year", "population"], [[1990, 5], [1991, 6]]));
  assert.deepEqual([years?.time, years?.precision, years?.lines.map(({ name }) => name)], ["fiscal_year", "year", ["population"]]);
  for (const unit of [1, 1000]) {
    const instants = seriesOf(table(["timestamp", "value"], [[1_735_689_600 * unit, 5], [1_735_776_000 * unit, 6]]));
    assert.deepEqual([instants?.seconds, instants?.zone], [[1_735_689_600, 1_735_776_000], "UTC"]);
  }
  assert.equal(seriesOf(table(["id", "value"], [[1_735_689_600, 5], [1_735_776_000, 6]])), null);
  assert.equal(seriesOf(table(["elapsed_time", "value"], [[12, 5], [15, 6]])), null);
});

test("what has no times, no numbers or one row is no series", () => {
  assert.equal(seriesOf(table(["a", "b"], [["x", 1], ["y", 2]])), null);
  assert.equal(seriesOf(table(["d", "b"], [["2026-01-13", "x"], ["2026-01-12", "y"]])), null);
  assert.equal(seriesOf(table(["d", "b"], [["2026-01-13", 1]])), null);
  assert.equal(seriesOf(table(["expiration", "type", "strike"], [["2026-01-16", "call", 1], ["2026-01-16", "call", 2], ["2026-02-16", "put", 2]])), null);
});

test("the line of a preview ends where rows are left out", () => {
  const json = { preview: { left_out: "annual rows 2-9, quarterly rows 3-79" } };
  assert.deepEqual([gapOf(json, "annual"), gapOf(json, "quarterly"), gapOf(json, ""), gapOf({ preview: { left_out: "rows 3-9" } }, "")], [{ at: 1, count: 8 }, { at: 2, count: 77 }, undefined, { at: 2, count: 7 }]);
  const series = seriesOf(table(["date", "close"], [["2026-01-13", 1], ["2026-01-12", 2], ["2020-01-02", 3]]), [], 2);
  assert.deepEqual(series?.lines[0]?.values, [3, null, 2, 1]);
});

test("characters that hide or turn text are marks", () => {
  assert.ok(hasMarks("a\u202eb") && hasMarks("a\u202eb") && !hasMarks("plain"));
  assert.deepEqual(piecesOf("a\u202eb\u0000"), [{ text: "a", isMark: false }, { text: "U+202E", isMark: true }, { text: "b", isMark: false }, { text: "U+0000", isMark: true }]);
  assert.deepEqual(piecesOf("😀 ok\n\t"), [{ text: "😀 ok\n\t", isMark: false }]);
  assert.ok(hasMarks("a\u202eb") && piecesOf("c\u202ed")[1]?.isMark); // the one does not disturb the other
  for (const text of ["\u200b", "\u2066", "\ufeff", "\u{e0041}", "\ud800", "\u0085", "\r"]) assert.ok(hasMarks(text), JSON.stringify(text));
  assert.deepEqual(wrapLines("ab😀cd", 3), ["ab😀", "cd"]);
});
