// One tool: what it takes, what it returns, and exactly what a model is told about it.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { getTool } from "../api";
import type { Tool } from "../api-types";
import { catalog, findTool, lastSearch, loadCatalog } from "../catalog-data";
import { Badge, Effect, FailureNotice, JsonCode, Notice, Page, SafeText, Skeleton, Tier } from "../components";
import { useResource } from "../resource";
import { href, navigate, route } from "../router";
import { ModelTexts } from "./tool/model-texts";
import { ParameterTable } from "./tool/parameter-table";
import { Relations } from "./tool/relations";
import { Returns } from "./tool/returns";

export function ToolView(): JSX.Element {
  const { name } = route.value;
  const [resource, reload] = useResource((signal) => getTool(name, signal), [name]);
  useEffect(() => void loadCatalog(), []);
  useEscapeToCatalog();
  const known = catalog.value.state === "ready" ? findTool(catalog.value.value, name) : undefined;
  const tool = resource.state === "ready" ? resource.value : undefined;
  return (
    <Page title={tool?.name ?? name} lead={<SafeText text={known?.summary ?? tool?.summary ?? ""} />} aside={tool && <Labels tool={tool} />} class="tool">
      <Trail source={known?.source ?? tool?.source} category={known?.category ?? tool?.category} />
      {resource.state === "loading" && <Skeleton lines={10} />}
      {resource.state === "failed" && (
        <div class="stack">
          <FailureNotice error={resource.error} onRetry={reload} />
          {resource.error.status === 404 && (
            <p>
              <a href={href("catalog", "", { q: name.replaceAll(/[_./]+/g, " ") })}>Search the catalog for it</a>
            </p>
          )}
        </div>
      )}
      {tool && <Details tool={tool} />}
    </Page>
  );
}

function Labels({ tool }: { tool: Tool }): JSX.Element {
  return (
    <span class="row labels">
      <Effect effect={tool.effect} />
      <Tier tier={tool.tier} />
      {tool.needs_approval && <Badge kind="warning">needs approval</Badge>}
      <a class="button primary" href={href("try", tool.name)}>
        Try it
      </a>
    </span>
  );
}

/** Links back to the search, to the source and to the category. */
function Trail({ source, category }: { source: string | undefined; category: string | undefined }): JSX.Element {
  const found = catalog.value.state === "ready" ? catalog.value.value.sources.find(({ id }) => id === source) : undefined;
  const title = found?.categories.find(({ id }) => id === category)?.title;
  const { q = "" } = lastSearch.value;
  return (
    <nav class="trail small" aria-label="Where this tool is">
      <a href={href("catalog", "", lastSearch.value)}>{q ? `Search for “${q}”` : "Catalog"}</a>
      {source && <a href={href("catalog", "", { source })}>{found?.title || source}</a>}
      {source && category && <a href={href("catalog", "", { source, category })}>{title || category}</a>}
    </nav>
  );
}

function Details({ tool }: { tool: Tool }): JSX.Element {
  return (
    <>
      <div class="stack about">
        {tool.description && tool.description !== tool.summary && (
          <p class="description">
            <SafeText text={tool.description} />
          </p>
        )}
        {tool.refused && (
          <Notice kind="warning">
            <p>
              This server refuses every call of this tool: <code>{tool.refused}</code>.
            </p>
          </Notice>
        )}
      </div>
      <section class="section" aria-labelledby="parameters">
        <h2 id="parameters">Parameters</h2>
        <ParameterTable schema={tool.schema} />
      </section>
      <div class="columns">
        <div>
          {tool.example && (
            <section class="section" aria-labelledby="example">
              <h2 id="example">Example</h2>
              <JsonCode value={{ tool_name: tool.name, arguments: tool.example }} label="the arguments of TOOL_CALL" short />
            </section>
          )}
          <Returns tool={tool} />
          <Relations tool={tool} />
        </div>
        <ModelTexts tool={tool} />
      </div>
    </>
  );
}

/** Escape leads back to the search, except where a control uses it. */
function useEscapeToCatalog(): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented || /^(INPUT|TEXTAREA|SELECT)$/.test((event.target as Element).tagName)) return;
      navigate(href("catalog", "", lastSearch.peek()));
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}
