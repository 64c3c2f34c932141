// One tool: its form, the call, the answer.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Json, Start, Tool } from "../api-types";
import { Badge, Button, Code, Effect, Field, Tier } from "../components";
import { href } from "../router";
import { announce } from "../announce";
import { AnswerPlace } from "./answer-place";
import { ArgumentForm } from "./argument-form";
import { type CallState, useCall } from "./call";
import { type CallOptions, type Draft, recallDraft, rememberDraft } from "./drafts";
import { type Problem, type Value, emptyValue, valueOf, withoutPlace, written } from "./form-values";
import { KeyField } from "./key-field";
import { formOf } from "./schema-form";
import { isObject } from "./schema-reader";
import { type Request, metaTool, toolCallArguments } from "./request";

export type TryToolProps = { tool: Tool; start: Start; given: { [name: string]: Json } | null; givenSelect: string };

type Written = { arguments: { [name: string]: Json }; problems: Problem[] };

export function TryTool({ tool, start, given, givenSelect }: TryToolProps): JSX.Element {
  const form = formOf(tool.schema);
  const isRead = tool.effect === "read";
  const first = given ?? tool.example ?? {};
  // What the address bar gives is new; else a person returns to what they left.
  const [draft] = useState(() => (given || givenSelect ? undefined : recallDraft(start.catalog.hash, tool.name)));
  const [values, setValues] = useState<Value>(() => draft?.values ?? valueOf(form, first));
  const [text, setText] = useState(() => draft?.text ?? JSON.stringify(first, null, 2));
  const [isText, setIsText] = useState(() => draft?.isText ?? withoutPlace(form, first).length > 0);
  const [options, setOptions] = useState<CallOptions>(draft?.options ?? { maxTokens: "", fresh: false });
  const [select, setSelect] = useState(draft?.select ?? givenSelect);
  const [tab, setTab] = useState(draft?.tab ?? "data");
  const [isChecked, setChecked] = useState(false);
  const caller = useCall(isRead, draft?.answered ?? null);
  const { state } = caller;
  const answerPlace = useRef<HTMLDivElement>(null);
  const formElement = useRef<HTMLFormElement>(null);

  const latest = useRef<Draft>(undefined);
  latest.current = { values, text, isText, options, select, tab, answered: state.answered };
  useEffect(() => () => void (latest.current && rememberDraft(start.catalog.hash, tool.name, latest.current)), []);

  const found: Written = isText ? writtenText(text) : written(form, values);
  const maxTokens = /^\d+$/.test(options.maxTokens.trim()) ? Number(options.maxTokens) : null;
  const request: Request = { tool: tool.name, isRead, arguments: found.arguments, select, maxTokens, fresh: options.fresh };
  const problems = isChecked ? found.problems : [];
  const lost = isText ? withoutPlace(form, found.arguments) : [];
  // A call that only reads may be repeated for another select, unless each needs an approval.
  const isRepeatable = isRead && !state.answered?.answer.error?.approval && !("approval_token" in (state.answered?.sent ?? {}));
  const send = (more: { [name: string]: Json } = {}) => {
    const { select: _select, ...whole } = toolCallArguments(request);
    // The answer without the select is what a select is built for; for tools that write, one call is made and no more.
    return caller.call({ ...(isRepeatable ? whole : toolCallArguments(request)), ...more });
  };
  const submit = () => {
    if (state.running) return;
    setChecked(true);
    if (found.problems.length) {
      announce(found.problems.length === 1 ? "1 problem in the form" : `${found.problems.length} problems in the form`);
      return focusProblem(formElement.current, found.problems[0]!);
    }
    void send();
  };
  const switchForm = () => {
    if (isText && (found.problems.length || lost.length)) {
      announce(found.problems[0]?.message ?? `The form has no place for ${lost.join(", ")}.`);
      return setChecked(true);
    }
    if (!isText) setText(JSON.stringify(found.arguments, null, 2));
    else setValues(valueOf(form, found.arguments));
    setChecked(false);
    setIsText(!isText);
  };
  const fill = (json: { [name: string]: Json } | null) => {
    setValues(json ? valueOf(form, json) : emptyValue(form));
    setText(JSON.stringify(json ?? {}, null, 2));
    setChecked(false);
  };
  useEffect(() => {
    if (state.answered && state.answered !== draft?.answered && window.innerWidth < 800) answerPlace.current?.scrollIntoView({ block: "start" });
  }, [state.answered?.sent]);
  return (
    <div class="try">
      <div class="try-form">
        <p class="try-facts">
          <Effect effect={tool.effect} /> <Tier tier={tool.tier} /> <a href={href("tool", tool.name)}>Description</a> <a href={href("try")}>Other tool</a>
        </p>
        <KeyField source={start.catalog.sources.find(({ id }) => id === tool.source)} />
        <form
          ref={formElement}
          noValidate
          autocomplete="off"
          aria-label={`Arguments of ${tool.name}`}
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <div class="form-head">
            <h2>Arguments</h2>
            <span class="button-row">
              {tool.example && <Button class="quiet" onClick={() => fill(tool.example)}>Example</Button>}
              <Button class="quiet" onClick={() => fill(null)}>Empty</Button>
              <Button class="quiet" onClick={switchForm} pressed={isText}>
                JSON
              </Button>
            </span>
          </div>
          {isText ? (
            <Field label="Arguments as JSON" error={problems[0]?.message ?? ""} hint={lost.length && form.fields.length ? `The form has no place for ${lost.join(", ")}.` : ""}>
              {(ids) => <textarea {...ids} data-path="" class="mono" rows={10} value={text} onInput={(event) => setText(event.currentTarget.value)} spellcheck={false} />}
            </Field>
          ) : form.fields.length ? (
            <ArgumentForm field={form} value={values} onChange={setValues} path={[]} problems={problems} />
          ) : (
            <p class="hint">This tool takes no arguments.</p>
          )}
          <Options options={options} onChange={setOptions} isRepeatable={isRepeatable} select={select} onSelect={setSelect} />
          <CallButton state={state} effect={tool.effect} problems={problems} onCancel={caller.cancel} onAnyway={() => void send()} />
        </form>
        <section class="copy-as" aria-labelledby="copy-as-title">
          <h2 id="copy-as-title">As a model calls it</h2>
          <Code text={JSON.stringify(toolCallArguments(request), null, 2)} label={`the arguments of ${metaTool(request)}`} wrap short />
        </section>
      </div>
      <div class="try-answer" ref={answerPlace}>
        <AnswerPlace tool={tool} state={state} select={select} onSelect={setSelect} tab={tab} onTab={setTab} onRepeat={(token) => void caller.call({ ...state.answered!.sent, approval_token: token })} onRetry={() => void send()} />
      </div>
    </div>
  );
}

function Options({ options, onChange, isRepeatable, select, onSelect }: { options: CallOptions; onChange: (options: CallOptions) => void; isRepeatable: boolean; select: string; onSelect: (select: string) => void }): JSX.Element {
  return (
    <details class="options">
      <summary>Options of the call</summary>
      <div class="argument-fields">
        {!isRepeatable && <Field label="select">{(ids) => <input {...ids} class="mono" value={select} onInput={(event) => onSelect(event.currentTarget.value)} autocomplete="off" spellcheck={false} />}</Field>}
        <Field label="max_tokens" hint="Beyond it the answer is a preview. Empty: the default of the server.">
          {(ids) => <input {...ids} inputMode="numeric" value={options.maxTokens} onInput={(event) => onChange({ ...options, maxTokens: event.currentTarget.value })} autocomplete="off" />}
        </Field>
        <label class="check">
          <input type="checkbox" checked={options.fresh} onChange={(event) => onChange({ ...options, fresh: event.currentTarget.checked })} /> fresh: ask the source, also if the answer is cached
        </label>
      </div>
    </details>
  );
}

function CallButton({ state, effect, problems, onCancel, onAnyway }: { state: CallState; effect: string; problems: Problem[]; onCancel: () => void; onAnyway: () => void }): JSX.Element {
  return (
    <div class="call-bar">
      <Button type="submit" kind={effect === "read" ? "primary" : "danger"}>
        {effect === "read" ? "Call" : `Call (${effect})`}
      </Button>
      {state.running && <Button onClick={onCancel}>Cancel</Button>}
      {problems.length > 0 && !state.running && (
        <>
          <Badge kind="bad">{problems.length === 1 ? "1 problem" : `${problems.length} problems`}</Badge>
          {effect === "read" && <Button onClick={onAnyway}>Send it anyway</Button>}
        </>
      )}
    </div>
  );
}

function writtenText(text: string): Written {
  try {
    const json = JSON.parse(text.trim() || "{}") as Json;
    if (isObject(json)) return { arguments: json, problems: [] };
    return { arguments: {}, problems: [{ path: [], message: "Write an object: { … }." }] };
  } catch (error) {
    return { arguments: {}, problems: [{ path: [], message: `This is not JSON: ${(error as Error).message.slice(0, 120)}` }] };
  }
}

function focusProblem(form: HTMLFormElement | null, problem: Problem): void {
  const path = problem.path.join("/");
  const place = [...(form?.querySelectorAll<HTMLElement>("[data-path]") ?? [])].find((element) => element.dataset["path"] === path);
  const control = place?.matches("input, select, textarea") ? place : place?.querySelector<HTMLElement>("input, select, textarea, button");
  control?.focus();
}
