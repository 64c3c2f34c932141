// The TypeScript SDK as a client that authorizes itself: TOOL_LIST, a pause, TOOL_CALL; prints the results as JSON.
//
//   node oauth_steps.mjs v1 URL PAUSE_S REDIRECT_URI [CLIENT_METADATA_URL]
//
// v1 is @modelcontextprotocol/sdk, v2 its successor @modelcontextprotocol/client. No person is there: the authorization
// server approves at once, and the client reads the code off its redirect.

const [line, url, pause, redirectUri, metadataUrl] = process.argv.slice(2);

const sdk = {
  v1: async () => ({
    ...(await import("@modelcontextprotocol/sdk/client/index.js")),
    ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
    ...(await import("@modelcontextprotocol/sdk/client/auth.js")),
  }),
  v2: async () => await import("@modelcontextprotocol/client"),
}[line];
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await sdk();

const kept = {};
let redirected;
const provider = {
  get redirectUrl() { return redirectUri; },
  get clientMetadata() {
    return {
      client_name: "oauth-steps",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  },
  clientMetadataUrl: metadataUrl || undefined,
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => { kept.discovery = state; },
  discoveryState: () => kept.discovery,
  async redirectToAuthorization(authorizationUrl) {
    const answer = await fetch(authorizationUrl, { redirect: "manual" });
    if (answer.status !== 302) throw new Error(`${answer.status} ${await answer.text()}`);
    redirected = new URL(answer.headers.get("location")).searchParams;
  },
};

let client, transport;
async function connect() {
  client = new Client({ name: "oauth-steps", version: "1.0.0" }, line === "v2" ? { versionNegotiation: { mode: "auto" } } : {});
  transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  await client.connect(transport);
}

async function authorized(attempt) {
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transport.finishAuth(line === "v2" ? redirected : redirected.get("code"));
    return await attempt();
  }
}

await authorized(connect);
const steps = [await authorized(() => client.callTool({ name: "TOOL_LIST", arguments: {} }))];
await new Promise((resolve) => setTimeout(resolve, Number(pause) * 1000));
const quote = { tool_name: "GLOBAL_QUOTE", arguments: { symbol: "AAPL", datatype: "json" } };
steps.push(await authorized(() => client.callTool({ name: "TOOL_CALL", arguments: quote })));
await client.close();
console.log(JSON.stringify({ client_id: kept.client?.client_id ?? null, steps }));
