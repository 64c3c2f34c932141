// The TypeScript SDK as a client: lists the tools, takes the three steps, prints what came back as one line of JSON.
//
//   node three_steps.mjs v1 legacy http://127.0.0.1:8080/mcp
//   node three_steps.mjs v2 2026-07-28 toolfold stdio
//
// v1 is @modelcontextprotocol/sdk, v2 its successor @modelcontextprotocol/client. The second word is how the protocol
// version is chosen: "legacy" (the handshake), "auto", or the version itself; v1 knows the handshake alone.

const [line, mode, target, ...args] = process.argv.slice(2);

const sdk = {
  v1: async () => ({
    ...(await import("@modelcontextprotocol/sdk/client/index.js")),
    ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
    ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
  }),
  v2: async () => ({
    ...(await import("@modelcontextprotocol/client")),
    ...(await import("@modelcontextprotocol/client/stdio")),
  }),
}[line];
const { Client, StreamableHTTPClientTransport, StdioClientTransport } = await sdk();

const negotiation = ["legacy", "auto"].includes(mode) ? mode : { pin: mode };
const client = new Client(
  { name: "three-steps", version: "1.0.0" },
  line === "v2" ? { versionNegotiation: { mode: negotiation } } : {},
);
client.onerror = (error) => console.error(error.message);

const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args, env: process.env, stderr: "inherit" });
await client.connect(transport);

const { tools } = await client.listTools();
const call = (name, args) => client.callTool({ name, arguments: args });
const steps = [
  await call("TOOL_LIST", {}),
  await call("TOOL_GET", { tool_name: "GLOBAL_QUOTE" }),
  await call("TOOL_CALL", { tool_name: "GLOBAL_QUOTE", arguments: { symbol: "AAPL", datatype: "json" } }),
];
const protocol = transport.protocolVersion ?? client.getNegotiatedProtocolVersion?.() ?? null;
await client.close();
console.log(JSON.stringify({ protocol, tools: tools.map((tool) => tool.name), steps }));
