// A call as others make it, to be copied.

import type { JSX } from "preact";

import type { Start } from "../api-types";
import { Code, Tabs } from "../components";
import { apiKeys } from "../state";
import { type Endpoint, type Request, curlOf, keyVariable, metaTool, pythonOf, toolCallArguments } from "./snippets";

export function CopyAs({ request, start, source }: { request: Request; start: Start; source: string }): JSX.Element {
  const endpoint = endpointOf(start, source);
  const hint = endpoint.keySource && <p class="hint">Your key is not in the text: set it as {keyVariable(endpoint.keySource)}.</p>;
  return (
    <section class="copy-as" aria-labelledby="copy-as-title">
      <h2 id="copy-as-title">Copy as</h2>
      <Tabs
        label="Copy the call as"
        tabs={[
          { id: "call", title: metaTool(request), content: () => <Code text={JSON.stringify(toolCallArguments(request), null, 2)} label={`the arguments of ${metaTool(request)}`} wrap short /> },
          {
            id: "curl",
            title: "curl",
            content: () => (
              <>
                <Code text={curlOf(request, endpoint)} label="the call as curl" wrap short />
                {hint}
              </>
            ),
          },
          {
            id: "python",
            title: "Python",
            content: () => (
              <>
                <Code text={pythonOf(request, endpoint)} label="the call as Python" wrap short />
                {hint}
              </>
            ),
          },
        ]}
      />
    </section>
  );
}

function endpointOf(start: Start, source: string): Endpoint {
  const status = start.catalog.sources.find(({ id }) => id === source);
  const isGiven = Boolean(apiKeys.value[source]);
  const isNeeded = Boolean(status?.needs_key && !status.has_key);
  return { url: start.endpoint, keySource: isGiven || isNeeded ? source : "", isNamed: start.catalog.sources.length > 1 };
}
