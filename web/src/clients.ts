// How clients are connected: the texts of the server, grouped by client.

import type { ClientSetup } from "./api-types";

export interface Client {
  id: string;
  title: string;
  /** Commands and files first, links last, in the server's order. */
  setups: ClientSetup[];
  links: ClientSetup[];
}

export function groupClients(setups: readonly ClientSetup[]): Client[] {
  const clients = new Map<string, Client>();
  for (const setup of setups) {
    const client = clients.get(setup.id) ?? { id: setup.id, title: setup.title, setups: [], links: [] };
    clients.set(setup.id, client);
    if (setup.kind === "link") {
      if (isInstallLink(setup.text)) client.links.push(setup);
    } else client.setups.push(setup);
  }
  return [...clients.values()];
}

const SCHEMES = new Set(["cursor:", "vscode:", "vscode-insiders:", "claude:", "https:"]);

/** Whether a link leads to a client. Any other scheme is no link: it could run code. */
export function isInstallLink(text: string): boolean {
  try {
    return SCHEMES.has(new URL(text).protocol);
  } catch {
    return false;
  }
}
