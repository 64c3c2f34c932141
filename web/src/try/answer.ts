// What a person sees of an answer of TOOL_CALL: tables, fields, text, notes, an error.

import type { Json } from "../api-types";
import type { ToolAnswer } from "../mcp";
import { parseCsv, parseMarkdownTable } from "./delimited";
import { isObject } from "./schema-reader";
import { type FieldValue, type Table, shapeOf, tableOfRecords } from "./tables";

/** Why an answer is not what was asked for. */
export type Note = { kind: "preview" | "stale" | "failed" | "note"; text: string };

export type AnswerError = {
  code: string;
  message: string;
  suggestion: string;
  /** The call that would work: a meta-tool and its arguments. */
  nextCall: { tool: string; arguments: { [name: string]: Json } } | null;
  retryable: boolean;
  /** Seconds after which a call may work. */
  retryAfter: number | null;
  approval: Approval | null;
};

export type Approval = { prompt: string; token: string; expires: string };

/** A content block behind the text: an image, a sound, a resource, a link. */
export type Block = { type: string; title: string; mimeType: string; text: string; uri: string; image: string; bytes: number };

export type Answer = {
  error: AnswerError | null;
  tables: Table[];
  fields: FieldValue[];
  /** Text that is neither a table nor a record. */
  prose: string;
  /** The very text that a model gets. */
  text: string;
  json: Json | undefined;
  blocks: Block[];
  notes: Note[];
  origin: Origin;
};

export type Origin = {
  cached: boolean;
  ageSeconds: number;
  elapsedMs: number | null;
  upstreamMs: number | null;
  requests: number | null;
  alternatives: string[];
  reasoning: string;
};

/** Image types that the page shows; all others, and SVG, are a line of text. */
const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Return the model of an answer. */
export function answerOf(given: ToolAnswer): Answer {
  const structured = isObject(given.structured) ? given.structured : {};
  const result = "result" in structured ? structured.result : given.structured;
  const error = errorOf(given, structured);
  const shape = error ? { tables: [], fields: [] } : shapeOf(result);
  const answer: Answer = {
    error,
    ...shape,
    prose: "",
    text: given.text,
    json: given.structured,
    blocks: given.content.slice(firstOther(given)).flatMap(blockOf),
    notes: notesOf(structured),
    origin: originOf(structured),
  };
  if (!error && !shape.tables.length) readText(answer, result);
  return answer;
}

/** Read a table, a record or prose from the text, of an answer whose data is a text or missing. */
function readText(answer: Answer, result: Json | undefined): void {
  const text = typeof result === "string" ? result : result === undefined ? answer.text : null;
  if (text === null) return;
  answer.fields = [];
  const data = text.trimStart();
  if (data.startsWith("{") || data.startsWith("[")) {
    try {
      const shape = shapeOf(JSON.parse(data) as Json);
      answer.tables = shape.tables;
      answer.fields = shape.fields;
      return;
    } catch {
      // text that begins with a bracket
    }
  }
  const records = parseCsv(withoutNotices(text)) ?? parseMarkdownTable(text);
  if (records) answer.tables = [tableOfRecords(records)];
  else answer.prose = text;
}

/** Lines that begin with # are toolfold's: age, preview, notes. */
function withoutNotices(text: string): string {
  return text.replace(/^(?:#[^\n]*\n)+/, "");
}

function errorOf(given: ToolAnswer, structured: { [name: string]: Json }): AnswerError | null {
  if (!given.isError && !("error" in structured && !("result" in structured))) return null;
  const error = isObject(structured.error) ? structured.error : {};
  const token = str(error.approval_token);
  return {
    code: str(error.code) || "ERROR",
    message: str(error.message) || given.text,
    suggestion: str(error.suggestion),
    nextCall: nextCallOf(error.next_call),
    retryable: error.retryable === true,
    retryAfter: num(error.retry_after_s),
    approval: token || error.code === "APPROVAL_REQUIRED" ? { prompt: str(error.prompt) || str(error.message), token, expires: str(error.expires_at) } : null,
  };
}

function nextCallOf(given: Json | undefined): AnswerError["nextCall"] {
  const [first] = isObject(given) ? Object.entries(given) : [];
  return first && isObject(first[1]) ? { tool: first[0], arguments: first[1] } : null;
}

function notesOf(structured: { [name: string]: Json }): Note[] {
  const notes: Note[] = [];
  if (typeof structured.late === "string") {
    notes.push({ kind: "stale", text: `This answer has expired, and the source could not be reached: ${structured.late}.` });
  }
  if (isObject(structured.preview)) notes.push({ kind: "preview", text: previewText(structured.preview) });
  for (const note of Array.isArray(structured.notes) ? structured.notes : []) {
    if (typeof note === "string") notes.push({ kind: / failed: [A-Z_]+\./.test(note) ? "failed" : "note", text: note });
  }
  return notes;
}

function previewText(preview: { [name: string]: Json }): string {
  const total = num(preview.rows_total);
  const shown = num(preview.rows_shown);
  const rows = total ? `: ${count(shown ?? 0)} of ${count(total)} rows` : "";
  const full = isObject(preview.full) ? num(preview.full.tokens) : null;
  const tokens = full === null ? "" : ` All of it has about ${count(full)} tokens.`;
  const link = isObject(preview.full) ? str(preview.full.url) || str(preview.full.path) : "";
  return `This is a preview${rows}. Left out: ${str(preview.left_out)}.${tokens}${link ? ` The whole answer: ${link}` : ""}`;
}

/** Return the `select` expressions that a preview proposes for a smaller answer. */
export function proposedSelects(json: Json | undefined): string[] {
  const preview = isObject(json) && isObject(json.preview) ? json.preview : {};
  const found = str(preview.ask_less).matchAll(/select=("(?:[^"\\]|\\.)*")/g);
  return [...found].flatMap(([, quoted]) => {
    try {
      return [JSON.parse(quoted!) as string];
    } catch {
      return [];
    }
  });
}

/** Rows that a preview leaves out: they stand before the row with the index `at`, and are `count`. */
export type Gap = { at: number; count: number };

/** Return the rows of a table that a preview leaves out; undefined where it leaves none out. */
export function gapOf(json: Json | undefined, table: string): Gap | undefined {
  const preview = isObject(json) && isObject(json.preview) ? json.preview : {};
  for (const part of str(preview.left_out).split(", ")) {
    const found = /^(?:(.*) )?rows (\d+)-(\d+)$/.exec(part);
    if (found && (found[1] ?? "") === table) return { at: Number(found[2]) - 1, count: Number(found[3]) - Number(found[2]) + 1 };
  }
  return undefined;
}

function originOf(structured: { [name: string]: Json }): Origin {
  return {
    cached: structured.cached === true,
    ageSeconds: num(structured.age_s) ?? 0,
    elapsedMs: num(structured.elapsed_ms),
    upstreamMs: num(structured.upstream_ms),
    requests: num(structured.upstream_requests),
    alternatives: Array.isArray(structured.alternatives) ? structured.alternatives.filter((one): one is string => typeof one === "string") : [],
    reasoning: str(structured.reasoning),
  };
}

function firstOther({ content }: ToolAnswer): number {
  const first = content.findIndex((block) => block.type === "text");
  return first < 0 ? 0 : first + 1;
}

function blockOf(block: { type: string; [member: string]: unknown }): Block[] {
  const resource = isObject(block.resource) ? block.resource : {};
  const data = str(block.data as Json) || str(resource.blob);
  const mimeType = str(block.mimeType as Json) || str(resource.mimeType);
  const image = IMAGES.has(mimeType) && /^[A-Za-z0-9+/\s]+=*\s*$/.test(data) ? `data:${mimeType};base64,${data}` : "";
  const title = str(block.title as Json) || str(block.name as Json) || str(resource.name);
  const text = str(block.text as Json) || str(resource.text) || str(block.description as Json);
  return [{ type: block.type, title, mimeType, text, uri: str(block.uri as Json) || str(resource.uri), image, bytes: Math.floor((data.length * 3) / 4) }];
}

function count(value: number): string {
  return value.toLocaleString("en");
}

function str(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function num(value: Json | undefined): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
