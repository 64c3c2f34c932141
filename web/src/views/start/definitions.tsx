// The tools that a model sees at this endpoint, as tools/list answers them.

import type { JSX } from "preact";

import { JsonCode, Skeleton } from "../../components";
import type { ToolDefinition } from "../../mcp";
import type { Resource } from "../../resource";
import { href } from "../../router";
import { ABOUT } from "./about";

export function Definitions({ definitions }: { definitions: Resource<ToolDefinition[]> }): JSX.Element {
  return (
    <section class="section" aria-labelledby="sees">
      <h2 id="sees">What a model sees</h2>
      {definitions.state === "loading" ? (
        <Skeleton lines={3} />
      ) : (
        <ol class="steps">
          {definitions.state === "ready"
            ? definitions.value.map((definition) => <Step key={definition.name} name={definition.name} definition={definition} />)
            : ["TOOL_LIST", "TOOL_GET", "TOOL_CALL"].map((name) => <Step key={name} name={name} />)}
        </ol>
      )}
    </section>
  );
}

function Step({ name, definition }: { name: string; definition?: ToolDefinition }): JSX.Element {
  const about = ABOUT[name];
  return (
    <li>
      <code>{name}</code>
      <p>{about?.text ?? definition?.title ?? ""}</p>
      {about && <a href={href(about.view)}>{about.link}</a>}
      {definition && (
        <details>
          <summary>Its definition</summary>
          {definition.description && <p class="description">{definition.description}</p>}
          <JsonCode value={definition.inputSchema} label={`the input schema of ${name}`} short />
        </details>
      )}
    </li>
  );
}
