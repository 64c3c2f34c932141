// Tables in text: CSV as TOOL_CALL and upstreams write it, and tables of Markdown.

/** Rows that are read of a text; the rest stays in the view of the text. */
const MAX_ROWS = 200_000;

/** Return the records of a CSV text (RFC 4180), or null where it is not one: fewer than two columns, or ragged rows. */
export function parseCsv(text: string): string[][] | null {
  const records: string[][] = [];
  let record: string[] = [];
  let offset = 0;
  const end = text.length;
  while (offset <= end && records.length < MAX_ROWS) {
    let cell = "";
    if (text[offset] === '"') {
      let close = text.indexOf('"', offset + 1);
      let from = offset + 1;
      while (close !== -1 && text[close + 1] === '"') {
        cell += text.slice(from, close + 1);
        from = close + 2;
        close = text.indexOf('"', from);
      }
      if (close === -1) return null;
      cell += text.slice(from, close);
      offset = close + 1;
      if (offset < end && !",\r\n".includes(text[offset]!)) return null;
    } else {
      let stop = offset;
      while (stop < end && text[stop] !== "," && text[stop] !== "\n" && text[stop] !== "\r") stop += 1;
      cell = text.slice(offset, stop);
      offset = stop;
    }
    record.push(cell);
    if (text[offset] === ",") {
      offset += 1;
      continue;
    }
    if (text[offset] === "\r") offset += 1;
    if (text[offset] === "\n" || offset >= end) offset += 1;
    if (record.length > 1 || record[0] !== "" || offset <= end) records.push(record);
    record = [];
    if (offset >= end) break;
  }
  const width = records[0]?.length ?? 0;
  const isTable = width > 1 && records.length > 1 && records.every((one) => one.length === width);
  return isTable && records[0]!.every(isName) ? records : null;
}

/** Whether a cell of the first record is a name: prose with commas begins its parts with blanks, and ends in a full stop. */
function isName(cell: string): boolean {
  return cell.length <= 200 && cell === cell.trim() && !/[.!?:]$/.test(cell);
}

/** Return the first table of a Markdown text, or null without one. */
export function parseMarkdownTable(text: string): string[][] | null {
  const lines = text.split("\n", MAX_ROWS);
  const rule = lines.findIndex((line, index) => index > 0 && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)+\|?\s*$/.test(line.slice(0, 2000)) && lines[index - 1]!.includes("|"));
  if (rule < 1) return null;
  const names = cellsOf(lines[rule - 1]!);
  const records = [names];
  for (const line of lines.slice(rule + 1)) {
    if (!line.includes("|")) break;
    const cells = cellsOf(line);
    records.push(names.map((_, index) => cells[index] ?? ""));
  }
  return names.length > 1 && records.length > 1 ? records : null;
}

function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}
