// Choose a tool: the search that models use, as links.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { getCatalog, search } from "../api";
import type { CatalogTool } from "../api-types";
import { Effect, Empty, FailureNotice, Field, Skeleton, Tier } from "../components";
import { examples } from "../examples";
import { formatCount } from "../format";
import { useResource } from "../resource";
import { href } from "../router";
import { SafeText } from "./safe-text";

/** Tools that are listed; the catalog view has all. */
const LIMIT = 12;

/** Milliseconds after a key until the search begins. */
const PAUSE_MS = 80;

export function ToolPicker(): JSX.Element {
  const [text, setText] = useState("");
  const query = usePaused(text.trim(), PAUSE_MS);
  const [catalog, reload] = useResource((signal) => getCatalog(signal), []);
  const [found] = useResource((signal) => search(query || " ", LIMIT, signal), [query]);
  // While the next search runs, what the last one found stays.
  const last = useRef<string[]>([]);
  const list = useRef<HTMLUListElement>(null);
  if (catalog.state === "failed") return <FailureNotice error={catalog.error} onRetry={reload} />;
  if (catalog.state === "loading") return <Skeleton lines={8} />;
  const byName = new Map(catalog.value.tools.map((tool) => [tool.name, tool]));
  if (found.state === "ready" && query) last.current = found.value.hits;
  const names = query ? last.current : catalog.value.tools.slice(0, LIMIT).map(({ name }) => name);
  const tools = names.flatMap((name) => byName.get(name) ?? []);
  const links = () => [...(list.current?.querySelectorAll<HTMLElement>("a") ?? [])];
  const onListKey = (event: KeyboardEvent) => {
    const at = links().indexOf(document.activeElement as HTMLElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || at < 0) return;
    event.preventDefault();
    links()[at + step]?.focus();
  };
  return (
    <div class="tool-picker">
      <Field label="Tool" hint="Search as a model does: in words, or by name.">
        {(ids) => (
          <input
            {...ids}
            type="search"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "ArrowDown") (event.preventDefault(), links()[0]?.focus());
              if (event.key === "Enter" && tools[0]) location.hash = href("try", tools[0].name);
            }}
            autocomplete="off"
            spellcheck={false}
            placeholder={examples().first}
          />
        )}
      </Field>
      <p class="hint" role="status">
        {query ? (found.state === "ready" ? formatCount(found.value.total, "match", "matches") : "") : formatCount(catalog.value.tools.length, "tool")}
      </p>
      {query && found.state === "failed" && <FailureNotice error={found.error} />}
      {query && found.state === "ready" && !tools.length && <Empty title="Nothing fits">Try other English keywords, or look at the catalog.</Empty>}
      <ul class="tool-links" ref={list} onKeyDown={onListKey}>
        {tools.map((tool) => (
          <ToolLink key={tool.name} tool={tool} />
        ))}
      </ul>
    </div>
  );
}

function ToolLink({ tool }: { tool: CatalogTool }): JSX.Element {
  return (
    <li>
      <a href={href("try", tool.name)}>
        <code>{tool.name}</code>
      </a>{" "}
      <SafeText text={tool.summary} /> {tool.effect !== "read" && <Effect effect={tool.effect} />} <Tier tier={tool.tier} />
    </li>
  );
}

/** Return a value once it has not changed for a while. */
export function usePaused<T>(value: T, ms: number): T {
  const [paused, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return paused;
}
