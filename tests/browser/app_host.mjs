// A host of MCP Apps: the client and the AppBridge of the reference packages, in a page. `open` calls a tool and shows
// its answer as hosts do: the resource that the tool names, in a frame without an origin, under the policy that the
// specification prescribes where a resource names no other host.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

const UI = "io.modelcontextprotocol/ui";
const TYPE = "text/html;profile=mcp-app";
const POLICY = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'none'";

window.open_app = async ({ url, key, mode, theme, width, tool, args, capabilities = { serverTools: {}, downloadFile: {} } }) => {
  document.body.textContent = "";
  document.documentElement.style.background = theme === "dark" ? "#262624" : "#ffffff";
  const options = { capabilities: { extensions: { [UI]: { mimeTypes: [TYPE] } } }, versionNegotiation: { mode } };
  const client = new Client({ name: "host", version: "1" }, options);
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { "X-API-Key": key } } }));
  const { tools } = await client.listTools();
  const definition = tools.find((one) => one.name === tool);
  const uri = definition._meta.ui.resourceUri;
  const { contents } = await client.readResource({ uri });
  const resource = contents.find((one) => one.mimeType === TYPE);
  const result = await client.callTool({ name: tool, arguments: args });

  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts";
  frame.allow = "clipboardWrite" in resource._meta.ui.permissions ? "clipboard-write" : "";
  frame.title = "App";
  frame.style.cssText = `width:${width}px;height:100px;border:0`;
  document.body.append(frame);
  window.downloads = [];
  window.heights = [];
  const context = { theme, displayMode: "inline", toolInfo: { tool: definition } };
  const bridge = new AppBridge(client, { name: "host", version: "1" }, capabilities, { hostContext: context });
  bridge.ondownloadfile = async ({ contents: files }) => (window.downloads.push(...files.map((file) => file.resource)), {});
  bridge.onsizechange = ({ height }) => {
    window.heights.push(height);
    frame.style.height = `${height}px`;
  };
  const isReady = new Promise((resolve) => (bridge.oninitialized = resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = resource.text.replace("<head>", `<head><meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
  await isReady;
  window.bridge = bridge;
  await bridge.sendToolInput({ arguments: args });
  await bridge.sendToolResult(result);
  return { names: tools.filter((one) => one._meta?.ui).map((one) => one.name), bytes: new TextEncoder().encode(resource.text).length };
};
