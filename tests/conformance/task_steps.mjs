// The Tasks client of the TypeScript SDK: makes one long call, polls its task, prints the progress and the result as JSON.
//
//   node task_steps.mjs http://127.0.0.1:8080/mcp ARGUMENTS_OF_TOOL_BATCH

import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, batch] = process.argv.slice(2);
const protocolVersion = "2026-07-28";
const clientInfo = { name: "task-steps", version: "1.0.0" };

const sent = [];
async function rawDispatch(request) {
  sent.push(request.method);
  const { method, params } = request;
  const name = params.taskId ?? params.name;
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": protocolVersion,
      "mcp-method": method,
      ...(name ? { "mcp-name": name } : {}),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: sent.length, method, params }),
  });
  const answer = await response.json();
  return answer.error ? { kind: "error", error: answer.error } : { kind: "result", result: answer.result };
}

const client = new Client(clientInfo, { versionNegotiation: { mode: { pin: protocolVersion } } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const clientCapabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const session = createTaskSessionFromClient(client, {
  endpointId: "toolfold",
  rawDispatch,
  v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities },
});
const execution = await session.callTool("TOOL_BATCH", JSON.parse(batch));
const { outcome } = await execution.settle();
const result = resultFromTaskOutcome(outcome);
await session.close();
await client.close();
console.log(JSON.stringify({ sent, result }));
