import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { callTool, lastEvent, readReply } from "../src/mcp";
import { apiKeys } from "../src/state";

const original = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = original;
  apiKeys.value = {};
});

function answerWith(body: string, status = 200, type = "application/json"): { url?: string; init?: RequestInit } {
  const seen: { url?: string; init?: RequestInit } = {};
  globalThis.fetch = async (url, init) => {
    Object.assign(seen, { url, init });
    return new Response(body, { status, headers: { "Content-Type": type } });
  };
  return seen;
}

test("request carries its envelope, and the headers repeat it", async () => {
  const seen = answerWith('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}');
  apiKeys.value = { "": "K1", alpha_vantage: "K2", empty: "" };
  await callTool("TOOL_CALL", { tool_name: "X" });
  assert.equal(seen.url, "mcp");
  const headers = seen.init?.headers as Record<string, string>;
  assert.equal(headers["Mcp-Method"], "tools/call");
  assert.equal(headers["Mcp-Name"], "TOOL_CALL");
  assert.equal(headers["MCP-Protocol-Version"], "2026-07-28");
  assert.equal(headers["X-API-Key"], "K1");
  assert.equal(headers["X-API-Key-alpha-vantage"], "K2");
  assert.ok(!("X-API-Key-empty" in headers));
  const { method, params } = JSON.parse(String(seen.init?.body));
  assert.equal(method, "tools/call");
  assert.deepEqual(params.arguments, { tool_name: "X" });
  assert.equal(params._meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
  assert.deepEqual(params._meta["io.modelcontextprotocol/clientCapabilities"], {});
  assert.ok(!String(seen.init?.body).includes("K1"));
});

test("answer is its texts, its structured content and its error flag", async () => {
  answerWith('{"id":1,"result":{"content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}],"structuredContent":{"x":1},"isError":true}}');
  const answer = await callTool("TOOL_GET", {});
  assert.ok(answer.ok);
  assert.equal(answer.value.text, "a\nb");
  assert.deepEqual(answer.value.structured, { x: 1 });
  assert.equal(answer.value.isError, true);
});

test("errors of the protocol, of HTTP and of the network are values", async () => {
  const refused = readReply(400, '{"id":1,"error":{"code":-32602,"message":"Unknown tool"}}', 1);
  assert.deepEqual(refused, { ok: false, error: { status: 400, code: "-32602", message: "Unknown tool", next_step: "" } });
  for (const body of ["<html>", "", "null", "[]", "3"]) assert.equal(readReply(502, body, 1).ok, false, body);
  globalThis.fetch = async () => {
    throw new TypeError("failed to fetch");
  };
  const lost = await callTool("TOOL_LIST", {});
  assert.ok(!lost.ok && lost.error.code === "NETWORK");
});

test("cancelled request is said to be so", async () => {
  globalThis.fetch = async (_, init) => {
    init?.signal?.throwIfAborted();
    return new Response("{}");
  };
  const answer = await callTool("TOOL_LIST", {}, AbortSignal.abort());
  assert.ok(!answer.ok && answer.error.code === "ABORTED");
});

test("last event of a stream is the response", () => {
  assert.equal(lastEvent('event: message\r\ndata: {"method":"progress"}\r\n\r\ndata: {"id":1,\r\ndata: "result":{}}\r\n\r\n'), '{"id":1,\n"result":{}}');
  assert.equal(lastEvent(""), "");
});
