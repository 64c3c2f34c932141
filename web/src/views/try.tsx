// Try: call a tool, and see its answer as a table, a chart, the text of a model and JSON.

import type { JSX } from "preact";

import { getTool } from "../api";
import type { Json, Tool } from "../api-types";
import { FailureNotice, Page, Skeleton } from "../components";
import { type Resource, useResource } from "../resource";
import { route } from "../router";
import { loadedStart } from "../start-info";
import { isObject } from "../try/schema-reader";
import { ToolPicker } from "../try/tool-picker";
import { TryTool } from "../try/try-tool";

export function TryView(): JSX.Element {
  const { name } = route.value;
  if (!name)
    return (
      <Page title="Try" lead="Choose a tool, fill its form, call it.">
        <ToolPicker />
      </Page>
    );
  return <TryNamed name={name} />;
}

function TryNamed({ name }: { name: string }): JSX.Element {
  const { query } = route.value;
  const [tool, reload] = useResource((signal) => getTool(name, signal), [name]);
  const given = query.get("arguments") ?? "";
  const select = query.get("select") ?? "";
  return (
    <Page title={`Try ${name}`} lead={tool.state === "ready" ? tool.value.title : undefined} class="wide">
      <Loaded tool={tool} reload={reload} given={given} select={select} />
    </Page>
  );
}

function Loaded({ tool, reload, given, select }: { tool: Resource<Tool>; reload: () => void; given: string; select: string }): JSX.Element {
  const start = loadedStart();
  if (tool.state === "failed")
    return (
      <>
        <FailureNotice error={tool.error} onRetry={reload} />
        {tool.error.status === 404 && <ToolPicker />}
      </>
    );
  if (tool.state === "loading" || !start) return <Skeleton lines={8} />;
  return <TryTool key={`${given} ${select}`} tool={tool.value} start={start} given={parseArguments(given)} givenSelect={select} />;
}

/** Return the arguments of the address bar, or null where it has none. */
function parseArguments(text: string): { [name: string]: Json } | null {
  if (!text) return null;
  try {
    const json = JSON.parse(text) as Json;
    return isObject(json) ? json : null;
  } catch {
    return null;
  }
}
