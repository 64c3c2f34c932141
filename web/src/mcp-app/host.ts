// The host of an MCP App (SEP-1865): JSON-RPC by messages between this window and the one above it.

import type { Json } from "../api-types";

type Params = { [name: string]: unknown };

/** What the host says of itself and of the call whose answer is shown. */
export type HostContext = {
  theme?: "light" | "dark";
  styles?: { variables?: Record<string, string | undefined> };
  toolInfo?: { tool: { name: string } };
};

export type CallResult = {
  content?: { type: string; text?: string; [member: string]: unknown }[];
  structuredContent?: Json;
  isError?: boolean;
};

export type Listener = {
  onContext: (context: HostContext) => void;
  onArguments: (args: { [name: string]: Json }) => void;
  onResult: (result: CallResult) => void;
  onCancelled: (reason: string) => void;
};

const VERSION = "2026-01-26";

export class Host {
  /** What the host offers: `downloadFile`, `serverTools`. */
  capabilities: Params = {};
  #lastId = 0;
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();

  /** Connect: the host then sends the arguments and the result of the call. */
  async connect(listener: Listener): Promise<void> {
    window.addEventListener("message", (event) => {
      if (event.source === window.parent) this.#receive(event.data as Message, listener);
    });
    const params = { appInfo: { name: "toolfold", version: "1" }, appCapabilities: {}, protocolVersion: VERSION };
    const answer = (await this.request("ui/initialize", params)) as { hostCapabilities?: Params; hostContext?: HostContext };
    this.capabilities = answer.hostCapabilities ?? {};
    listener.onContext(answer.hostContext ?? {});
    this.#send({ method: "ui/notifications/initialized", params: {} });
  }

  request(method: string, params: Params): Promise<unknown> {
    const id = (this.#lastId += 1);
    this.#send({ id, method, params });
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** Tell the host how high the content is, so that nothing in it is cut. */
  sendHeight(height: number): void {
    this.#send({ method: "ui/notifications/size-changed", params: { height } });
  }

  #send(message: Params): void {
    // The origin of a host is not known; what is sent holds no secret.
    window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  #receive({ id, method, params = {}, result, error }: Message, listener: Listener): void {
    if (method === undefined) {
      const waiting = this.#waiting.get(id as number);
      this.#waiting.delete(id as number);
      if (error) waiting?.reject(new Error(error.message));
      else waiting?.resolve(result);
    } else if (id !== undefined) {
      const isKnown = method === "ui/resource-teardown" || method === "ping";
      this.#send(isKnown ? { id, result: {} } : { id, error: { code: -32601, message: "Unknown method" } });
    } else if (method === "ui/notifications/tool-input") listener.onArguments((params.arguments ?? {}) as { [name: string]: Json });
    else if (method === "ui/notifications/tool-result") listener.onResult(params as CallResult);
    else if (method === "ui/notifications/tool-cancelled") listener.onCancelled(String(params.reason ?? ""));
    else if (method === "ui/notifications/host-context-changed") listener.onContext(params as HostContext);
  }
}

type Message = { id?: number | string; method?: string; params?: Params; result?: unknown; error?: { message: string } };
