// What this is, what it saves here, and how to connect a client.

import type { JSX } from "preact";

import type { Start } from "../api-types";
import { Page, Skeleton } from "../components";
import { formatCount } from "../format";
import { listTools } from "../mcp";
import { useResource } from "../resource";
import { loadedStart } from "../start-info";
import { heading } from "./start/about";
import { ConnectClients } from "./start/connect";
import { Definitions } from "./start/definitions";
import { SavedTokens } from "./start/saved-tokens";
import { SourceTable } from "./start/sources";

export function StartView(): JSX.Element {
  const start = loadedStart();
  const [definitions] = useResource((signal) => listTools(signal), []);
  if (!start)
    return (
      <Page title="toolfold">
        <Skeleton lines={8} />
      </Page>
    );
  const seen = definitions.state === "ready" ? definitions.value.length : undefined;
  return (
    <Page title={heading(definitions.state === "loading" ? 3 : seen, start.catalog.tools)} lead={<Sentence start={start} />}>
      <SavedTokens tokens={start.tokens} tools={start.catalog.tools} seen={seen} />
      <Definitions definitions={definitions} />
      <ConnectClients start={start} />
      <SourceTable start={start} />
    </Page>
  );
}

function Sentence({ start }: { start: Start }): JSX.Element {
  const { sources } = start.catalog;
  const from = sources.length === 1 ? sources[0]?.title || "one source" : formatCount(sources.length, "source");
  return (
    <>
      toolfold is an MCP server. A model searches the tools of {from}, reads the description of one and calls it, instead of carrying every definition in its context.
    </>
  );
}
