// Commands, files and links that connect a client to this endpoint.

import type { JSX } from "preact";

import type { ClientSetup, Start } from "../../api-types";
import { type Client, groupClients } from "../../clients";
import { Code, CopyButton, Tabs } from "../../components";

export function ConnectClients({ start }: { start: Start }): JSX.Element {
  const clients = groupClients(start.clients);
  return (
    <section class="section" aria-labelledby="connect">
      <h2 id="connect">Connect a client</h2>
      <div class="row endpoint">
        <span>MCP endpoint</span>
        <code>{start.endpoint}</code>
        <CopyButton text={start.endpoint} what="the address of the endpoint" />
      </div>
      {clients.length > 0 && <Tabs label="Clients" tabs={clients.map((client) => ({ id: client.id, title: client.title, content: () => <Setup client={client} /> }))} />}
    </section>
  );
}

function Setup({ client }: { client: Client }): JSX.Element {
  return (
    <div class="stack">
      {client.links.map((link) => (
        <p key={link.text}>
          <a class="button primary" href={link.text}>
            Install in {client.title}
          </a>
        </p>
      ))}
      {client.setups.map((setup) => (
        <div class="stack tight" key={setup.text}>
          <p>
            <Instruction setup={setup} />
          </p>
          <Code text={setup.text} label={setup.kind === "command" ? `the command for ${client.title}` : `the configuration for ${client.title}`} wrap={setup.kind === "command"} />
        </div>
      ))}
    </div>
  );
}

function Instruction({ setup }: { setup: ClientSetup }): JSX.Element {
  if (setup.kind === "command") return <>Run in a terminal:</>;
  if (!setup.file) return <>Add to the client's configuration:</>;
  return (
    <>
      Add to <code>{setup.file}</code>, beside the servers that are there:
    </>
  );
}
