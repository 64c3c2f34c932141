// An answer: what it lacks, where it comes from, then table, chart, text and JSON.

import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";

import { Badge, Button, Empty, Field, Notice, type Tab, Tabs, Tokens } from "../components";
import { formatMs } from "../format";
import { href } from "../router";
import { type Answer, type AnswerError, type Block, type Note, gapOf, proposedSelects } from "./answer";
import type { Answered } from "./call";
import { ChartView } from "./chart-view";
import { JsonView } from "./json-view";
import { SafeText, TextBlock } from "./safe-text";
import { seriesOf } from "./series";
import { Record, TableView } from "./table-view";

export type AnswerViewProps = {
  answered: Answered;
  /** Name of the tool, for labels. */
  tool: string;
  /** The chosen form of the answer. */
  tab: string;
  onTab: (tab: string) => void;
  /** Apply a `select` that a preview proposes; undefined where nothing can be called. */
  onSelect?: ((select: string) => void) | undefined;
};

export function AnswerView({ answered, tool, tab, onTab, onSelect }: AnswerViewProps): JSX.Element {
  const { answer } = answered;
  const tabs = useMemo(() => tabsOf(answered, tool, onSelect), [answered, tool]);
  return (
    <section class="answer" aria-label={`Answer of ${tool}`}>
      <Notes notes={answer.notes} selects={onSelect ? proposedSelects(answer.json) : []} onSelect={onSelect} />
      {answer.error && !answer.error.approval && <ErrorView error={answer.error} />}
      <Origin answered={answered} />
      <Tabs label="Forms of the answer" tabs={tabs} selected={tab} onSelect={onTab} />
    </section>
  );
}

const TITLES: { [kind in Note["kind"]]: string } = {
  preview: "Not the whole answer",
  stale: "Out of date",
  failed: "A part is missing",
  note: "Not exactly what was asked for",
};

/** What an answer lacks, above all else. */
export function Notes({ notes, selects, onSelect }: { notes: Note[]; selects: string[]; onSelect?: ((select: string) => void) | undefined }): JSX.Element | null {
  if (!notes.length) return null;
  return (
    <div class="notes" role="note" aria-label="What this answer lacks">
      {notes.map(({ kind, text }, index) => (
        <Notice key={index} kind="warning" title={TITLES[kind]}>
          <p>
            <SafeText text={text} />
          </p>
          {kind === "preview" && selects.length > 0 && (
            <p class="button-row">
              {selects.map((select) => (
                <Button key={select} onClick={() => onSelect?.(select)}>
                  Select: {select}
                </Button>
              ))}
            </p>
          )}
        </Notice>
      ))}
    </div>
  );
}

function ErrorView({ error }: { error: AnswerError }): JSX.Element {
  const name = error.nextCall?.arguments.tool_name;
  const given = error.nextCall?.arguments.arguments;
  return (
    <Notice kind="error" title={<SafeText text={error.message} />}>
      {error.suggestion && (
        <p>
          <SafeText text={error.suggestion} />
        </p>
      )}
      <p class="notice-foot">
        <code>{error.code}</code>
        {error.retryAfter !== null && <span>May work again after {error.retryAfter} s.</span>}
        {error.nextCall?.tool === "TOOL_CALL" && typeof name === "string" && (
          <a href={href("try", name, { arguments: JSON.stringify(given ?? {}) })}>
            Try <SafeText text={name} /> with what works
          </a>
        )}
      </p>
    </Notice>
  );
}

/** Where an answer comes from, and what it took. */
function Origin({ answered }: { answered: Answered }): JSX.Element {
  const { origin, error } = answered.answer;
  return (
    <p class="origin">
      {error ? <Badge kind="bad">error</Badge> : origin.cached ? <Badge kind="good">from the cache{origin.ageSeconds ? `, ${age(origin.ageSeconds)} old` : ""}</Badge> : origin.requests !== null && <Badge>{origin.requests === 1 ? "1 request" : `${origin.requests} requests`} to the source</Badge>}
      <span>{formatMs(answered.ms)}</span>
      {origin.upstreamMs !== null && origin.upstreamMs > 0 && <span>of which the source {formatMs(origin.upstreamMs)}</span>}
      {answered.tokens !== null && <Tokens count={answered.tokens} of="the text that a model gets" />}
    </p>
  );
}

function age(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function tabsOf({ answer, tokens }: Answered, tool: string, onSelect: AnswerViewProps["onSelect"]): Tab[] {
  const series = answer.tables.map((table) => seriesOf(table, answer.fields, gapOf(answer.json, table.name)?.at));
  const withSeries = answer.tables.filter((_, index) => series[index]);
  const isPart = answer.notes.some(({ kind }) => kind === "preview");
  const tableOf = (index: number) => (answer.tables.length > 1 ? answer.tables[index]!.name : "");
  const name = (position: number) => answer.tables[position]!.name || tool;
  return [
    ...(answer.error ? [] : [{ id: "data", title: answer.tables.length ? "Table" : answer.fields.length ? "Fields" : "Answer", content: () => <Data answer={answer} tool={tool} /> }]),
    ...(withSeries.length
      ? [{ id: "chart", title: "Chart", content: () => <Several count={answer.tables.length} skip={(index) => !series[index]} name={name} view={(index) => <ChartView key={index} series={series[index]!} label={name(index)} isPart={isPart} onSelect={onSelect} table={tableOf(index)} />} /> }]
      : []),
    { id: "text", title: "Text for a model", content: () => <ModelText text={answer.text} tokens={tokens} /> },
    { id: "json", title: "JSON", content: () => <JsonView value={answer.json} /> },
  ];
}

/** The text as a model gets it. */
export function ModelText({ text, tokens }: { text: string; tokens: number | null }): JSX.Element {
  return (
    <div class="model-text">
      <p class="hint">
        The very text that a model gets{tokens === null ? "" : `, ${tokens.toLocaleString("en")} ${tokens === 1 ? "token" : "tokens"}`}, {text.length.toLocaleString("en")} characters.
      </p>
      <TextBlock text={text} label="the text that a model gets" />
    </div>
  );
}

function Data({ answer, tool }: { answer: Answer; tool: string }): JSX.Element {
  const { tables, fields, prose, blocks } = answer;
  const isEmpty = !tables.length && !fields.length && !prose && !blocks.length;
  return (
    <div class="data">
      {isEmpty && <Empty title="No data">The call worked, and its answer is empty.</Empty>}
      {tables.length > 0 && <Several count={tables.length} skip={() => false} name={(index) => tables[index]!.name || tool} view={(index) => <TableOrEmpty key={index} answer={answer} index={index} tool={tool} />} />}
      {fields.length > 0 && (tables.length ? <Beside fields={fields} /> : <Record fields={fields} />)}
      {prose && <TextBlock text={prose} label="the answer" />}
      {blocks.map((block, index) => (
        <BlockView key={index} block={block} />
      ))}
    </div>
  );
}

function TableOrEmpty({ answer, index, tool }: { answer: Answer; index: number; tool: string }): JSX.Element {
  const table = answer.tables[index]!;
  if (table.rows.length) return <TableView table={table} label={`Table ${table.name || tool}`} gap={gapOf(answer.json, table.name)} />;
  return <Empty title="No rows">Columns: {table.columns.map(({ name }) => name).join(", ") || "none"}.</Empty>;
}

function Beside({ fields }: { fields: Answer["fields"] }): JSX.Element {
  return (
    <details class="beside">
      <summary>Beside the rows: {fields.length === 1 ? "1 field" : `${fields.length} fields`}</summary>
      <Record fields={fields} />
    </details>
  );
}

/** One of several tables, with a control to choose it. */
function Several({ count, skip, name, view }: { count: number; skip: (index: number) => boolean; name: (index: number) => string; view: (index: number) => ComponentChildren }): JSX.Element {
  const offered = Array.from({ length: count }, (_, index) => index).filter((index) => !skip(index));
  const [chosen, setChosen] = useState(offered[0] ?? 0);
  return (
    <>
      {offered.length > 1 && (
        <Field label="Table" class="table-choice">
          {(ids) => (
            <select {...ids} value={String(chosen)} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
              {offered.map((index) => (
                <option key={index} value={String(index)}>
                  {name(index)}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      {view(offered.includes(chosen) ? chosen : (offered[0] ?? 0))}
    </>
  );
}

function BlockView({ block }: { block: Block }): JSX.Element {
  const title = block.title || block.uri || block.type;
  return (
    <figure class="block">
      {block.image && <img src={block.image} alt={block.title || "An image of the answer"} />}
      <figcaption>
        <Badge>{block.type}</Badge> <SafeText text={title} /> {block.mimeType && <SafeText text={block.mimeType} />}
        {block.bytes > 0 && !block.image && ` ${block.bytes.toLocaleString("en")} bytes, not shown`}
        {block.uri && block.uri !== title && (
          <code>
            <SafeText text={block.uri} />
          </code>
        )}
      </figcaption>
      {block.text && <TextBlock text={block.text} label={title} />}
    </figure>
  );
}
