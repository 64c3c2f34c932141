// A client of MCP 2026-07-28: no session, each request carries its own envelope. What it shows is what a model gets.

import { withTimeout } from "./api";
import type { Json } from "./api-types";
import { NOT_SENDABLE, isHeaderText } from "./header-text";
import { type Failure, type Result, failure, fromThrown, success } from "./result";
import { apiKeys } from "./state";

const VERSION = "2026-07-28";
// A call waits for an upstream service; the server's own time-outs are shorter.
const TIMEOUT_MS = 120_000;

export interface ContentBlock {
  type: string;
  text?: string;
  [member: string]: unknown;
}

export interface ToolAnswer {
  /** The text blocks, joined: what a model reads. */
  text: string;
  content: ContentBlock[];
  /** `structuredContent`, or undefined where the tool has none. */
  structured: Json | undefined;
  /** Whether the tool refused or failed; `text` says why. */
  isError: boolean;
  /** `_meta` of the result. */
  meta: Record<string, Json>;
  /** Milliseconds from the request to the whole response, as the page measured them. */
  ms: number;
  /** Size of the response's body. */
  bytes: number;
}

export interface ToolDefinition {
  name: string;
  title?: string;
  description?: string;
  inputSchema: { [key: string]: Json };
  outputSchema?: { [key: string]: Json };
  annotations?: { [key: string]: Json };
}

interface Reply {
  result: Record<string, unknown>;
  ms: number;
  bytes: number;
}

let lastId = 0;

/** Send one request and return its result. Keys are sent to this endpoint alone, and are never stored. */
async function request(method: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<Result<Reply>> {
  const headers: Record<string, string> = {
    Accept: "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": VERSION,
    "Mcp-Method": method,
    ...keyHeaders(),
  };
  if (typeof params["name"] === "string") headers["Mcp-Name"] = params["name"];
  const message = {
    jsonrpc: "2.0",
    id: ++lastId,
    method,
    params: {
      ...params,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { name: "toolfold-explorer", version: "1" },
      },
    },
  };
  if (!Object.values(keyHeaders()).every(isHeaderText)) return failure(0, "INVALID_KEY", "An API key cannot be sent.", NOT_SENDABLE);
  const begin = performance.now();
  try {
    const response = await fetch("mcp", { method: "POST", headers, body: JSON.stringify(message), cache: "no-store", signal: withTimeout(signal, TIMEOUT_MS) });
    const body = await response.text();
    const ms = performance.now() - begin;
    const isStream = response.headers.get("Content-Type")?.startsWith("text/event-stream");
    return readReply(response.status, isStream ? lastEvent(body) : body, ms);
  } catch (thrown) {
    return fromThrown(thrown);
  }
}

/** Return the data of the last event of a stream: the response, after notifications of progress. */
export function lastEvent(stream: string): string {
  const events = stream.replaceAll("\r\n", "\n").split("\n\n");
  const data = events.map((event) => event.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).replace(/^ /, "")).join("\n"));
  return data.filter(Boolean).at(-1) ?? "";
}

/** Read the body of a response: its result, or its error as a failure. */
export function readReply(status: number, body: string, ms: number): Result<Reply> {
  let reply: { result?: unknown; error?: unknown };
  try {
    reply = JSON.parse(body) as typeof reply;
  } catch {
    return failure(status, `HTTP_${status}`, `The endpoint answered with HTTP ${status}, and not with JSON.`, nextStep(status));
  }
  if (typeof reply?.result === "object" && reply.result !== null)
    return success({ result: reply.result as Record<string, unknown>, ms, bytes: new TextEncoder().encode(body).length });
  const error = reply?.error as { code?: unknown; message?: unknown; next_step?: unknown } | undefined;
  const message = typeof error?.message === "string" ? error.message : `The endpoint answered with HTTP ${status}.`;
  return failure(status, String(error?.code ?? `HTTP_${status}`), message, typeof error?.next_step === "string" ? error.next_step : nextStep(status));
}

function nextStep(status: number): string {
  if (status === 401) return "Enter an access token, or open the address that toolfold printed.";
  return status === 403 ? "This access token does not allow the request." : "";
}

// A key named "" is for every source that takes one; another is for the source of that id alone.
function keyHeaders(): Record<string, string> {
  const named = Object.entries(apiKeys.value).filter(([, key]) => key !== "");
  return Object.fromEntries(named.map(([source, key]) => [source ? `X-API-Key-${source.replaceAll("_", "-")}` : "X-API-Key", key]));
}

/** Call one of the tools that a model sees, such as TOOL_LIST, with its arguments. */
export async function callTool(name: string, args: { [key: string]: Json }, signal?: AbortSignal): Promise<Result<ToolAnswer>> {
  const reply = await request("tools/call", { name, arguments: args }, signal);
  if (!reply.ok) return reply;
  const { result, ms, bytes } = reply.value;
  const content = (Array.isArray(result["content"]) ? result["content"] : []) as ContentBlock[];
  return success({
    text: content.flatMap((block) => (block.type === "text" && typeof block.text === "string" ? [block.text] : [])).join("\n"),
    content,
    structured: result["structuredContent"] as Json | undefined,
    isError: result["isError"] === true,
    meta: (result["_meta"] ?? {}) as Record<string, Json>,
    ms,
    bytes,
  });
}

export const toolList = (args: { [key: string]: Json }, signal?: AbortSignal): Promise<Result<ToolAnswer>> => callTool("TOOL_LIST", args, signal);

export const toolGet = (args: { [key: string]: Json }, signal?: AbortSignal): Promise<Result<ToolAnswer>> => callTool("TOOL_GET", args, signal);

/** Return the tools that a model sees at this endpoint. */
export async function listTools(signal?: AbortSignal): Promise<Result<ToolDefinition[]>> {
  const reply = await request("tools/list", {}, signal);
  return reply.ok ? success((reply.value.result["tools"] ?? []) as ToolDefinition[]) : reply;
}

export type { Failure };
