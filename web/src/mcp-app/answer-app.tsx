// An answer of TOOL_CALL in the window of an MCP host: chart, table, option chain, fields; and as CSV.

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

import type { Json } from "../api-types";
import { LiveRegion, announce } from "../announce";
import { Button, CopyButton, SafeText } from "../components";
import { type Answer, answerOf, gapOf } from "../try/answer";
import { csvOf } from "../try/cells";
import { type Series, seriesOf, timeText } from "../try/series";
import { Record, TableView } from "../try/table-view";
import type { Table } from "../try/tables";
import { type CallResult, Host, type HostContext } from "./host";
import { LineChart } from "./line-chart";
import { optionChainOf } from "./option-chain";

/** Characters of a text that are shown; the conversation has all of it. */
const MAX_PROSE = 20_000;

/** More tokens than any server allows: all rows that it gives. */
const ALL_TOKENS = 1_000_000;

export function AnswerApp({ host }: { host: Host }): JSX.Element {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [args, setArgs] = useState<{ [name: string]: Json }>({});
  const [tool, setTool] = useState("TOOL_CALL");
  const [isLoading, setLoading] = useState(false);
  const [cancelled, setCancelled] = useState<string | null>(null);
  useEffect(() => {
    const onContext = (context: HostContext) => {
      applyContext(context);
      if (context.toolInfo) setTool(context.toolInfo.tool.name);
    };
    void host.connect({ onContext, onArguments: setArgs, onResult: (result) => setAnswer(read(result)), onCancelled: setCancelled });
    const observer = new ResizeObserver(() => host.sendHeight(Math.ceil(document.body.getBoundingClientRect().height)));
    observer.observe(document.body);
  }, []);

  const loadAll = async () => {
    setLoading(true);
    const result = (await host.request("tools/call", { name: tool, arguments: { ...args, max_tokens: ALL_TOKENS } }).catch(() => null)) as CallResult | null;
    setLoading(false);
    if (result && !result.isError) setAnswer(read(result));
    else announce("The rows could not be loaded.");
  };
  const name = typeof args.tool_name === "string" ? args.tool_name : tool;
  const isPart = answer?.notes.some(({ kind }) => kind === "preview");
  return (
    <main>
      {answer ? (
        <>
          {answer.notes.map(({ kind, text }, index) =>
            kind === "preview" ? (
              <p key={index} class="note">
                <SafeText text={(gapsOf(answer) || "The answer is a preview: a part of it is missing") + "."} />{" "}
                {tool === "TOOL_CALL" && "serverTools" in host.capabilities && (
                  <Button class="quiet" disabled={isLoading} onClick={() => void loadAll()}>
                    {isLoading ? "Loading…" : "Load more rows"}
                  </Button>
                )}
              </p>
            ) : (
              <p key={index} class="note">
                <SafeText text={text} />
              </p>
            ),
          )}
          <AnswerBody answer={answer} name={name} title={titleOf(name, args)} host={host} isPart={isPart ?? false} />
        </>
      ) : (
        <p class="note">{cancelled === null ? "Waiting for the answer…" : `The call was cancelled. ${cancelled}`}</p>
      )}
      <LiveRegion />
    </main>
  );
}

function read({ content = [], structuredContent, isError = false }: CallResult): Answer {
  const text = content.flatMap((block) => (block.type === "text" ? [block.text ?? ""] : [])).join("\n");
  return answerOf({ text, content, structured: structuredContent, isError, meta: {}, ms: 0, bytes: 0 });
}

/** The tool and its arguments: "TIME_SERIES_DAILY IBM". */
function titleOf(name: string, args: { [name: string]: Json }): string {
  const inner = typeof args.arguments === "object" && args.arguments !== null ? args.arguments : args.tool_name ? {} : args;
  const values = Object.values(inner).filter((value) => typeof value === "string" || typeof value === "number");
  return [name, ...values].join(" ").slice(0, 120);
}

function gapsOf(answer: Answer): string {
  const gaps = answer.tables.flatMap((table) => {
    const gap = gapOf(answer.json, table.name);
    return gap ? [`${gap.count.toLocaleString("en")} rows${table.name ? ` of ${table.name}` : ""} are left out`] : [];
  });
  return gaps.join(", ");
}

function AnswerBody({ answer, name, title, host, isPart }: { answer: Answer; name: string; title: string; host: Host; isPart: boolean }): JSX.Element {
  const { error, tables, fields, prose } = answer;
  const [chosen, setChosen] = useState(0);
  const table = tables[chosen] ?? tables[0];
  const heading = (
    <>
      <h1 class="title">
        <SafeText text={title} />
      </h1>
      {tables.length > 1 && (
        <Choice label="Table" value={String(chosen)} options={tables.map((one, index) => [String(index), one.name || name])} onChoice={(value) => setChosen(Number(value))} />
      )}
    </>
  );
  if (table) return <TableOrChart key={chosen} table={table} answer={answer} title={title} heading={heading} host={host} isPart={isPart} />;
  return (
    <>
      {heading}
      {error && (
        <p role="alert">
          <SafeText text={`${error.message} ${error.suggestion}`} />
        </p>
      )}
      {fields.length > 0 && <Record fields={fields} />}
      {prose && (
        <pre tabIndex={0}>
          <SafeText text={prose.slice(0, MAX_PROSE)} />
        </pre>
      )}
    </>
  );
}

type TableOrChartProps = { table: Table; answer: Answer; title: string; heading: JSX.Element; host: Host; isPart: boolean };

function TableOrChart({ table, answer, title, heading, host, isPart }: TableOrChartProps): JSX.Element {
  const chain = useMemo(() => optionChainOf(table), [table]);
  const [expiration, setExpiration] = useState(chain?.expirations[0] ?? "");
  const [form, setForm] = useState("");
  const gap = gapOf(answer.json, table.name);
  const series = useMemo(() => (chain ? null : seriesOf(table, answer.fields, gap?.at)), [table]);
  const pairs = useMemo(() => (chain ? chain.tableOf(expiration) : null), [chain, expiration]);
  const lines = useMemo(() => (chain ? chain.linesOf(expiration) : null), [chain, expiration]);

  const forms = [...(pairs ? ["Chain"] : []), ...(series || lines ? ["Chart"] : []), "Table"];
  // A table of texts with a few figures, such as news, is read before it is drawn.
  const isOfNumbers = 2 * table.columns.filter(({ type }) => type === "number").length >= table.columns.length;
  const shown = forms.includes(form) ? form : chain || isOfNumbers ? forms[0]! : "Table";
  const csv = () => csvOf(shown === "Table" || !pairs ? table : pairs);
  const actions = (
    <span class="actions">
      {isPart && <span>of the rows shown:</span>}
      <CopyButton text={csv} what="as CSV" />
      <Button class="quiet" onClick={() => void download(host, `${title}.csv`.replace(/[^\w.-]+/g, "-"), csv())}>
        Download CSV
      </Button>
    </span>
  );
  return (
    <>
      <div class="bar">
        {heading}
        {forms.length > 1 && (
          <span class="forms" role="group" aria-label="Form of the answer">
            {forms.map((one) => (
              <Button key={one} class="quiet" pressed={shown === one} onClick={() => setForm(one)}>
                {one}
              </Button>
            ))}
          </span>
        )}
        {chain && shown !== "Table" && (
          <Choice label="Expiration" value={expiration} options={chain.expirations.map((one) => [one, one])} onChoice={setExpiration} />
        )}
      </div>
      {shown === "Chart" && series && <SeriesChart series={series} label={title} />}
      {shown === "Chart" && lines && <LineChart key={expiration} label={`${title} ${expiration}, ${lines.title} by strike`} positions={lines.strikes} textOf={(index) => String(lines.strikes[index])} lines={lines.lines} />}
      {shown === "Chart" && (
        <div class="table-bar">
          <span>{series?.zone && `Times: ${series.zone}`}</span>
          {actions}
        </div>
      )}
      {shown === "Chain" && pairs && <TableView key={expiration} table={pairs} label={`${title} ${expiration}`} gap={undefined} actions={actions} />}
      {shown === "Table" && <TableView table={table} label={title} gap={gap} actions={actions} />}
    </>
  );
}

/** The zone of times is below the chart. */
function SeriesChart({ series, label }: { series: Series; label: string }): JSX.Element {
  const textOf = (index: number) => timeText(series, index).slice(0, 19);
  const markOf = (index: number) => (series.precision === "time" ? textOf(index).slice(5, 16) : textOf(index));
  return <LineChart label={label} positions={series.seconds} textOf={textOf} markOf={markOf} lines={series.lines} />;
}

function Choice({ label, value, options, onChoice }: { label: string; value: string; options: [value: string, text: string][]; onChoice: (value: string) => void }): JSX.Element {
  return (
    <label class="choice">
      {label}{" "}
      <select value={value} onChange={(event) => onChoice(event.currentTarget.value)}>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Save a file by the host; a host without that may let the browser save it. */
async function download(host: Host, name: string, text: string): Promise<void> {
  if ("downloadFile" in host.capabilities) {
    const resource = { uri: `file:///${name}`, mimeType: "text/csv", text };
    const result = (await host.request("ui/download-file", { contents: [{ type: "resource", resource }] }).catch(() => null)) as { isError?: boolean } | null;
    return announce(result && !result.isError ? `${name} downloaded` : "The host did not save the file. Copy the table instead.");
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Use the theme of the host, and its colours and fonts where it sends some. */
function applyContext({ theme, styles }: HostContext): void {
  const root = document.documentElement;
  if (theme) root.dataset["theme"] = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (name.startsWith("--") && typeof value === "string") root.style.setProperty(name, value);
  }
}
