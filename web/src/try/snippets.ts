// A call as others make it: arguments of TOOL_CALL, curl, Python. A key is the name of an environment variable, never its value.

import type { Json } from "../api-types";

export type Request = {
  tool: string;
  /** Whether its calls only read; else TOOL_CALL_WRITE makes them. */
  isRead: boolean;
  arguments: { [name: string]: Json };
  select: string;
  maxTokens: number | null;
  fresh: boolean;
};

export type Endpoint = {
  /** Address of MCP. */
  url: string;
  /** The source whose key the caller sends; empty: none is sent. */
  keySource: string;
  /** Whether the key is sent for that source alone, because the catalog has others. */
  isNamed: boolean;
};

/** Return the environment variable of which the snippets take the key of a source. */
export function keyVariable(source: string): string {
  return `${source.toUpperCase().replace(/[^A-Z0-9]+/g, "_").replace(/^(?=\d)/, "_")}_API_KEY`;
}

/** Return the meta-tool that makes a call. */
export function metaTool({ isRead }: Pick<Request, "isRead">): "TOOL_CALL" | "TOOL_CALL_WRITE" {
  return isRead ? "TOOL_CALL" : "TOOL_CALL_WRITE";
}

/** Return the arguments of TOOL_CALL, or TOOL_CALL_WRITE. */
export function toolCallArguments({ tool, arguments: given, select, maxTokens, fresh }: Request): { [name: string]: Json } {
  return {
    tool_name: tool,
    arguments: given,
    ...(select.trim() ? { select: select.trim() } : {}),
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    ...(fresh ? { fresh: true } : {}),
  };
}

/** Return the command that makes the call. */
export function curlOf(request: Request, { url, keySource, isNamed }: Endpoint): string {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: metaTool(request), arguments: toolCallArguments(request) } };
  const header = isNamed ? `x-api-key-${keySource.replaceAll("_", "-")}` : "x-api-key";
  const lines = [
    `curl -sS ${quoteShell(url)}`,
    "-H 'content-type: application/json'",
    ...(keySource ? [`-H "${header}: $${keyVariable(keySource)}"`] : []),
    `--data-raw ${quoteShell(asciiJson(message))}`,
  ];
  return lines.join(" \\\n  ");
}

/** Return the program that makes the call with toolfold's own client, and prints what a model reads. */
export function pythonOf(request: Request, { url, keySource, isNamed }: Endpoint): string {
  const key = `os.environ["${keyVariable(keySource)}"]`;
  const settings = [
    quotePython(url),
    ...(keySource ? [isNamed ? `source_keys={${quotePython(keySource)}: ${key}}` : `api_key=${key}`] : []),
  ];
  const { tool_name: _name, arguments: given, ...options } = toolCallArguments(request);
  const call = request.isRead
    ? [quotePython(request.tool), ...(Object.keys(request.arguments).length ? [literal(given!, 8)] : []), ...Object.entries(options).map(([name, value]) => `${name}=${literal(value, 8)}`)]
    : [quotePython(metaTool(request)), literal(toolCallArguments(request), 8)];
  const method = request.isRead ? "call" : "call_meta_tool";
  const line = `    answer = client.${method}(${call.join(", ")})`;
  const isShort = line.length <= MAX_LINE && !line.includes("\n");
  return [
    ...(keySource ? ["import os", ""] : []),
    "from toolfold import Client",
    "",
    `with Client(${settings.join(", ")}) as client:`,
    ...(isShort ? [line] : [`    answer = client.${method}(`, ...call.map((part) => `        ${part},`), "    )"]),
    "    print(answer.text)",
  ].join("\n");
}

/** Return a text as one word of a shell. */
function quoteShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Return JSON in one line without characters that a terminal or an editor would change. */
function asciiJson(value: unknown): string {
  return escapeOthers(JSON.stringify(value));
}

function escapeOthers(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Return a text of Python: JSON's escapes are Python's but for characters of two halves, and the delete character. */
function quotePython(text: string): string {
  return JSON.stringify(text).replace(/[\ud800-\udbff][\udc00-\udfff]|[^\x20-\x7e]/gu, (character) => {
    const code = character.codePointAt(0)!;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** Characters of a line up to which an object or a list is written in one line. */
const MAX_LINE = 88;

function literal(value: Json, indent: number): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return quotePython(value);
  if (typeof value === "number") return String(value);
  const parts = Array.isArray(value) ? value.map((item) => literal(item, indent + 4)) : Object.entries(value).map(([name, item]) => `${quotePython(name)}: ${literal(item, indent + 4)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const line = `${open}${parts.join(", ")}${close}`;
  if (line.length + indent <= MAX_LINE && !line.includes("\n")) return line;
  const space = " ".repeat(indent + 4);
  return `${open}\n${parts.map((part) => `${space}${part},\n`).join("")}${" ".repeat(indent)}${close}`;
}
