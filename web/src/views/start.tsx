// What this is, what it saves here, and how to connect a client.

import type { JSX } from "preact";

import type { Start } from "../api-types";
import { Page, Skeleton } from "../components";
import { formatCount } from "../format";
import { href } from "../router";
import { loadedStart } from "../start-info";
import { ConnectClients } from "./start/connect";
import { SavedTokens } from "./start/saved-tokens";
import { SourceTable } from "./start/sources";

export function StartView(): JSX.Element {
  const start = loadedStart();
  if (!start)
    return (
      <Page title="toolfold">
        <Skeleton lines={8} />
      </Page>
    );
  return (
    <Page title="toolfold" lead={<Sentence start={start} />}>
      <SavedTokens tokens={start.tokens} tools={start.catalog.tools} />
      <WhatAModelSees />
      <ConnectClients start={start} />
      <SourceTable start={start} />
    </Page>
  );
}

function Sentence({ start }: { start: Start }): JSX.Element {
  const { tools, sources } = start.catalog;
  return (
    <>
      A model sees three tools here instead of {formatCount(tools, "tool")} of {sources.length === 1 ? (sources[0]?.title ?? "one source") : formatCount(sources.length, "source")}: it
      searches, reads one description, and calls.
    </>
  );
}

const STEPS: readonly { name: string; text: string; view: "ask" | "catalog" | "try"; link: string }[] = [
  { name: "TOOL_LIST", text: "finds tools for a request in plain words; the best come with their parameters.", view: "ask", link: "Ask as a model" },
  { name: "TOOL_GET", text: "describes one tool: parameters, example, what it returns.", view: "catalog", link: "See what it says" },
  { name: "TOOL_CALL", text: "calls it, and returns the part of the answer that was asked for.", view: "try", link: "Try a call" },
];

function WhatAModelSees(): JSX.Element {
  const offered = loadedStart()?.views ?? [];
  return (
    <section class="section" aria-labelledby="sees">
      <h2 id="sees">What a model sees</h2>
      <ol class="steps">
        {STEPS.map(({ name, text, view, link }) => (
          <li key={name}>
            <code>{name}</code>
            <p>{text}</p>
            {offered.includes(view) && <a href={href(view)}>{link}</a>}
          </li>
        ))}
      </ol>
    </section>
  );
}
