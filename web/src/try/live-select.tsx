// A `select` applied to the last answer as it is changed: the same call again, which the cache answers.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Badge, Button, FailureNotice, Notice, Tokens } from "../components";
import { formatPercent } from "../format";
import { AnswerView } from "./answer-view";
import { type Answered, useCall } from "./call";
import { type Offer, SelectBuilder } from "./select-builder";
import { MAX_SELECT } from "./select-model";
import { usePaused } from "./tool-picker";

/** Milliseconds after a change until the call is made again. */
const PAUSE_MS = 350;

export type LiveSelectProps = {
  /** The answer without a select. */
  base: Answered;
  /** A tool whose calls only read, so that they may be repeated. */
  tool: string;
  select: string;
  onSelect: (select: string) => void;
  /** The chosen form of the answer. */
  tab: string;
  onTab: (tab: string) => void;
};

export function LiveSelect({ base, tool, select, onSelect, tab, onTab }: LiveSelectProps): JSX.Element {
  const { state, call, clear } = useCall(true, null, "Selected answer");
  const [isLive, setLive] = useState(true);
  const [applied, setApplied] = useState("");
  const [isOpen, setOpen] = useState(select !== "");
  const paused = usePaused(select.trim(), PAUSE_MS);
  const apply = async (text: string) => {
    setApplied(text);
    if (!text) return clear();
    const answered = await call({ ...base.sent, select: text, fresh: false });
    // Without a cache each change would be a request to the source.
    if (answered && !answered.answer.error && !answered.answer.origin.cached) setLive(false);
  };
  useEffect(() => {
    if (paused !== applied && paused.length <= MAX_SELECT && (isLive || !paused)) void apply(paused);
  }, [paused, isLive]);
  const shown = applied && state.answered ? state.answered : base;
  const isWaiting = select.trim() !== applied;
  return (
    <div class="answer-parts">
      <details class="select-panel" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <h2>Select a part</h2>
          {applied && <Saved base={base} selected={state.answered} />}
        </summary>
        <SelectBuilder offers={offersOf(base)} text={select} onChange={onSelect}>
          {!isLive && isWaiting && (
            <p class="button-row">
              <Button kind="primary" onClick={() => void apply(select.trim())}>
                Apply
              </Button>
              <span class="hint">Answers of this tool are not cached, so each change would be a request to the source.</span>
            </p>
          )}
        </SelectBuilder>
      </details>
      {state.failure && <FailureNotice error={state.failure} />}
      <div class={`answer-parts ${state.running ? "is-loading" : ""}`}>
        {applied && !state.answered && state.running ? null : applied && state.answered?.answer.error ? (
          <>
            <Notice kind="warning" title={state.answered.answer.error.code === "INVALID_ARGUMENTS" ? "This select does not fit the answer" : "The select could not be applied"}>
              <p>{state.answered.answer.error.message}</p>
              <p>{state.answered.answer.error.suggestion}</p>
            </Notice>
            <AnswerView answered={base} tool={tool} tab={tab} onTab={onTab} onSelect={onSelect} />
          </>
        ) : (
          <AnswerView answered={shown} tool={tool} tab={tab} onTab={onTab} onSelect={onSelect} />
        )}
      </div>
    </div>
  );
}

/** Tokens before and after, and whether the source was asked again. */
function Saved({ base, selected }: { base: Answered; selected: Answered | null }): JSX.Element | null {
  if (!selected || selected.answer.error) return null;
  const before = wholeTokens(base);
  const after = selected.tokens;
  return (
    <span class="saved">
      {before !== null && after !== null && (
        <>
          <s>{before.toLocaleString("en")}</s> <Tokens count={after} />
          {after < before && <Badge kind="good">{formatPercent((1 - after / before) * 100)} less</Badge>}
        </>
      )}
      {selected.answer.origin.cached ? <Badge kind="good">answered from the cache</Badge> : <Badge kind="warning">asked the source again</Badge>}
    </span>
  );
}

/** Return the tokens of the whole answer: of a preview, those that it states. */
function wholeTokens({ answer, tokens }: Answered): number | null {
  const preview = (answer.json as { preview?: { full?: { tokens?: number } } } | undefined)?.preview;
  return preview?.full?.tokens ?? tokens;
}

function offersOf({ answer }: Answered): Offer[] {
  if (answer.tables.length) return answer.tables.map(({ name, columns }) => ({ table: name, columns }));
  const fields = answer.fields.filter(([name]) => name).map(([name, value]) => ({ name, type: typeof value === "number" ? ("number" as const) : ("text" as const) }));
  return fields.length ? [{ table: "", columns: fields }] : [];
}
