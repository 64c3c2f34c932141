// The view Ask, once it is known what the server offers.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { countTokens } from "../api";
import type { Start } from "../api-types";
import { catalog, loadCatalog } from "../catalog-data";
import { Button, FailureNotice, Skeleton, Tokens } from "../components";
import { examples } from "../examples";
import { formatNumber } from "../format";
import { type ToolAnswer, toolGet, toolList } from "../mcp";
import { type Failure, isAborted } from "../result";
import { href, replaceQuery, route } from "../router";
import { announce } from "../announce";
import { SafeText, TextBlock } from "../try/safe-text";
import { usePaused } from "../try/tool-picker";
import { Controls } from "./controls";
import { type Step, stepOf } from "./conversation";
import { ConversationView } from "./conversation-view";
import { type Asked, LEVELS, type Listing, UNASKED, levelsText, listArguments, listingOf } from "./list-arguments";

/** Milliseconds after a change until TOOL_LIST is called. */
const PAUSE_MS = 200;

/** Tools that can be chosen; the text has all. */
const MAX_HITS = 24;

type Listed = { answer: ToolAnswer; listing: Listing; given: string; tokens: number | null };

export function Ask({ start }: { start: Start }): JSX.Element {
  const [asked, setAsked] = useState<Asked>(() => ({ ...UNASKED, query: route.peek().query.get("q") ?? examples().first }));
  const [listed, setListed] = useState<Listed | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [round, setRound] = useState(0);
  const definitions: Step = { title: "Definitions", asked: "", text: "", tokens: start.tokens.definitions };
  const [steps, setSteps] = useState<Step[]>([definitions]);
  const [opened, setOpened] = useState<{ name: string; step: Step } | null>(null);
  const paused = usePaused(asked, PAUSE_MS);
  const categories = catalog.value.state === "ready" ? catalog.value.value.sources.flatMap((source) => source.categories.map(({ id }) => id)) : [];
  useEffect(() => void loadCatalog(), []);

  useEffect(() => {
    const controller = new AbortController();
    void load(controller.signal);
    return () => controller.abort();

    async function load(signal: AbortSignal) {
      const given = listArguments(paused);
      replaceQuery({ q: paused.query });
      setBusy(true);
      const result = await toolList(given, signal);
      if (signal.aborted) return;
      setBusy(false);
      if (!result.ok) return isAborted(result.error) ? undefined : setFailure(result.error);
      setFailure(null);
      const answer = result.value;
      const listing = listingOf(answer.structured);
      const shown = { answer, listing, given: JSON.stringify(given), tokens: null };
      setListed(shown);
      setOpened(null);
      const counted = await countTokens([answer.text, shown.given], signal);
      if (signal.aborted) return;
      const tokens = counted.ok ? counted.value[0]! : null;
      setListed({ ...shown, tokens });
      announce(`${levelsText(listing)}${tokens === null ? "" : `, ${formatNumber(tokens)} tokens`}`);
      // A new request begins a new conversation: what a model would have read until here.
      setSteps([definitions, { title: "TOOL_LIST", asked: shown.given, text: answer.text, tokens: counted.ok ? counted.value[0]! + counted.value[1]! : null }]);
    }
  }, [JSON.stringify(paused), round]);

  const open = async (name: string) => {
    const given = { tool_name: name };
    const result = await toolGet(given);
    if (!result.ok) return setFailure(result.error);
    const step = await stepOf("TOOL_GET", given, result.value);
    setSteps((old) => [...old, step]);
    setOpened({ name, step });
    announce(`TOOL_GET ${name}${step.tokens === null ? "" : `, ${formatNumber(step.tokens)} tokens`}`);
  };
  return (
    <div class="ask">
      <Controls asked={asked} onChange={setAsked} start={start} categories={categories} />
      <div class="ask-answers">
        {failure && <FailureNotice error={failure} onRetry={() => (setFailure(null), setRound(round + 1))} />}
        {!listed && !failure && <Skeleton lines={8} />}
        {listed && <ListAnswer listed={listed} isBusy={isBusy} start={start} opened={opened?.name ?? ""} onOpen={(name) => void open(name)} />}
        {opened && <ToolAnswerView key={opened.name} name={opened.name} step={opened.step} />}
      </div>
      <ConversationView steps={steps} allDefinitions={start.tokens.all_definitions} onClear={() => (setSteps(steps.slice(0, 2)), setOpened(null))} />
    </div>
  );
}

type ListAnswerProps = { listed: Listed; isBusy: boolean; start: Start; opened: string; onOpen: (name: string) => void };

function ListAnswer({ listed, isBusy, start, opened, onOpen }: ListAnswerProps): JSX.Element {
  const { listing, answer, tokens } = listed;
  return (
    <section class={`ask-answer ${isBusy ? "is-loading" : ""}`} aria-labelledby="list-title" aria-busy={isBusy}>
      <div class="form-head">
        <h2 id="list-title">What the model reads</h2>
        {tokens !== null && <Tokens count={tokens} of="the text" />}
      </div>
      <p class="hint">
        <code class="asked">
          TOOL_LIST <SafeText text={listed.given} />
        </code>
      </p>
      <TextBlock text={answer.text} label="the answer of TOOL_LIST" />
      {listing.tools.length > 0 && (
        <>
          <p class="hint">
            {levelsText(listing)}, of {formatNumber(listing.matched)} that match among {formatNumber(listing.total)}. All {formatNumber(listing.total)} definitions have {formatNumber(start.tokens.all_definitions)} tokens. Choose a tool to see what TOOL_GET says:
          </p>
          <ul class="hits">
            {listing.tools.slice(0, MAX_HITS).map((tool) => (
              <li key={tool.name}>
                <Button class="quiet hit" pressed={opened === tool.name} onClick={() => onOpen(tool.name)}>
                  <SafeText text={tool.name} />
                </Button>
                <span class="hint">{LEVELS[tool.level]}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function ToolAnswerView({ name, step }: { name: string; step: Step }): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  useEffect(() => heading.current?.scrollIntoView({ block: "nearest" }), []);
  return (
    <section class="ask-answer" aria-labelledby="get-title">
      <div class="form-head">
        <h2 id="get-title" tabIndex={-1} ref={heading}>
          TOOL_GET <SafeText text={name} />
        </h2>
        <span class="button-row">
          {step.tokens !== null && <Tokens count={step.tokens} of="the call and its answer" />}
          <a class="button" href={href("try", name)}>
            Try it
          </a>
        </span>
      </div>
      <TextBlock text={step.text} label={`what TOOL_GET says of ${name}`} />
    </section>
  );
}
