// Controls for a `select`, and the text they make; the text can be written by hand as well.

import type { ComponentChildren, JSX } from "preact";

import { Button, Field } from "../components";
import { EMPTY_SELECT, FUNCTIONS, MAX_SELECT, OPERATORS, type Rows, type SelectModel, TIME_UNITS, aggregateText, parseSelect, selectText } from "./select-model";
import type { ColumnType } from "./tables";

/** What a `select` can name: the tables of an answer, each with its columns. */
export type Offer = { table: string; columns: { name: string; type: ColumnType }[] };

const ROWS: { [kind in Rows["kind"]]: string } = { all: "All", last: "The newest", first: "The oldest", limit: "The first listed", top: "Those with the most", bottom: "Those with the least" };

const PERIODS = ["last 30 days", "last 6 months", "past year", "ytd", "last month", "2025", "since 2025-01-01", "2025-01..2025-03"];

export type SelectBuilderProps = {
  offers: Offer[];
  /** The text of the select. */
  text: string;
  onChange: (text: string) => void;
  children?: ComponentChildren;
};

export function SelectBuilder({ offers, text, onChange, children }: SelectBuilderProps): JSX.Element {
  const model = parseSelect(text);
  const offer = offers.find(({ table }) => table === model.table) ?? offers[0];
  const columns = offer?.columns ?? [];
  const change = (changed: Partial<SelectModel>) => onChange(selectText({ ...model, ...changed }));
  return (
    <div class="select-builder">
      <Field label="select" hint="What the answer shall have. Written by the controls below, or by hand." error={text.length > MAX_SELECT ? `A select has at most ${MAX_SELECT} characters, and this has ${text.length}.` : ""}>
        {(ids) => (
          <div class="select-line">
            <input {...ids} class="mono" value={text} onInput={(event) => onChange(event.currentTarget.value)} autocomplete="off" spellcheck={false} placeholder="everything" />
            <Button onClick={() => onChange("")} disabled={!text}>
              Clear
            </Button>
          </div>
        )}
      </Field>
      {children}
      {columns.length > 0 && (
        <div class="select-controls">
          {offers.length > 1 && (
            <Choose label="Table" value={model.table} options={["", ...offers.map(({ table }) => table)]} none="all" onChange={(table) => change({ ...EMPTY_SELECT, table, rows: model.rows })} />
          )}
          <Columns columns={columns.map(({ name }) => name)} chosen={model.columns} disabled={model.aggregates.length > 0} onChange={(chosen) => change({ columns: chosen })} />
          <Filters model={model} columns={columns.map(({ name }) => name)} change={change} />
          {columns.some(({ type }) => type === "time") && (
            <Field label="Period">
              {(ids) => (
                <>
                  <input {...ids} value={model.period} list={`${ids.id}-periods`} onChange={(event) => change({ period: event.currentTarget.value })} autocomplete="off" placeholder="all dates" />
                  <datalist id={`${ids.id}-periods`}>
                    {PERIODS.map((period) => (
                      <option key={period} value={period} />
                    ))}
                  </datalist>
                </>
              )}
            </Field>
          )}
          <RowsControls model={model} columns={columns} change={change} />
          <Functions model={model} columns={columns} change={change} />
        </div>
      )}
    </div>
  );
}

function Choose({ label, value, options, none, onChange }: { label: string; value: string; options: readonly string[]; none: string; onChange: (value: string) => void }): JSX.Element {
  const offered = options.includes(value) ? options : [...options, value];
  return (
    <Field label={label}>
      {(ids) => (
        <select {...ids} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {offered.map((option) => (
            <option key={option} value={option}>
              {option || none}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

function Columns({ columns, chosen, disabled, onChange }: { columns: string[]; chosen: string[]; disabled: boolean; onChange: (columns: string[]) => void }): JSX.Element {
  // In the order of the answer; names that are not of the answer stay where they are.
  const toggle = (name: string) => onChange(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...columns.filter((one) => one === name || chosen.includes(one)), ...chosen.filter((one) => !columns.includes(one))]);
  return (
    <fieldset class="group" disabled={disabled}>
      <legend>Columns</legend>
      <div class="checks">
        {columns.slice(0, 250).map((name) => (
          <label key={name}>
            <input type="checkbox" checked={chosen.includes(name)} onChange={() => toggle(name)} /> <bdi>{name}</bdi>
          </label>
        ))}
      </div>
      <p class="hint">{disabled ? "Functions are selected instead." : "None checked: all of them."}</p>
    </fieldset>
  );
}

function Filters({ model, columns, change }: { model: SelectModel; columns: string[]; change: (changed: Partial<SelectModel>) => void }): JSX.Element {
  const set = (index: number, changed: Partial<SelectModel["filters"][number]>) => change({ filters: model.filters.map((filter, at) => (at === index ? { ...filter, ...changed } : filter)) });
  return (
    <fieldset class="group">
      <legend>Conditions</legend>
      {model.filters.map((filter, index) => (
        <div key={index} class="filter">
          <select aria-label={`Column of condition ${index + 1}`} value={filter.column} onChange={(event) => set(index, { column: event.currentTarget.value })}>
            {(columns.includes(filter.column) ? columns : [filter.column, ...columns]).map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
          <select aria-label={`Comparison of condition ${index + 1}`} value={filter.operator} onChange={(event) => set(index, { operator: event.currentTarget.value as never })}>
            {OPERATORS.map((operator) => (
              <option key={operator} value={operator}>
                {operator}
              </option>
            ))}
          </select>
          {!filter.operator.startsWith("is") && (
            <input aria-label={`Value of condition ${index + 1}`} value={filter.value} onChange={(event) => set(index, { value: event.currentTarget.value || "0" })} autocomplete="off" placeholder={filter.operator === "in" ? "one, two" : "value"} />
          )}
          <Button class="quiet" onClick={() => change({ filters: model.filters.filter((_, at) => at !== index) })} label={`Remove condition ${index + 1}`}>
            Remove
          </Button>
        </div>
      ))}
      <Button onClick={() => change({ filters: [...model.filters, { column: columns[0]!, operator: "is not null", value: "" }] })}>Add a condition</Button>
    </fieldset>
  );
}

type ControlProps = { model: SelectModel; columns: Offer["columns"]; change: (changed: Partial<SelectModel>) => void };

function RowsControls({ model, columns, change }: ControlProps): JSX.Element {
  const { rows, order } = model;
  const names = columns.map(({ name }) => name);
  const isGrouped = model.aggregates.length > 0 && model.group !== "";
  const calls = model.aggregates.map(aggregateText);
  const sortable = isGrouped ? [model.group, ...calls] : names;
  const numeric = isGrouped ? calls : columns.filter(({ type }) => type === "number").map(({ name }) => name);
  const isRanked = rows.kind === "top" || rows.kind === "bottom";
  const setKind = (kind: Rows["kind"]) => change({ rows: { kind, count: rows.count || "10", by: kind === "top" || kind === "bottom" ? rows.by || numeric[0] || names[0]! : "" } });
  return (
    <div class="select-row">
      <Field label="Rows">
        {(ids) => (
          <select {...ids} value={rows.kind} onChange={(event) => setKind(event.currentTarget.value as Rows["kind"])}>
            {Object.entries(ROWS).map(([kind, title]) => (
              <option key={kind} value={kind}>
                {title}
              </option>
            ))}
          </select>
        )}
      </Field>
      {rows.kind !== "all" && (
        <Field label="Number">
          {(ids) => <input {...ids} inputMode="numeric" value={rows.count} onChange={(event) => change({ rows: { ...rows, count: /^[1-9]\d{0,8}$/.test(event.currentTarget.value.trim()) ? event.currentTarget.value.trim() : "10" } })} />}
        </Field>
      )}
      {isRanked ? (
        <Choose label="Of" value={rows.by} options={numeric.length ? numeric : names} none="" onChange={(by) => change({ rows: { ...rows, by } })} />
      ) : (
        <>
          <Choose label="Sorted by" value={order.column} options={["", ...sortable]} none="–" onChange={(column) => change({ order: { ...order, column } })} />
          {order.column && <Choose label="Direction" value={order.descending ? "descending" : "ascending"} options={["ascending", "descending"]} none="" onChange={(way) => change({ order: { ...order, descending: way === "descending" } })} />}
        </>
      )}
    </div>
  );
}

function Functions({ model, columns, change }: ControlProps): JSX.Element {
  const numeric = columns.filter(({ type }) => type === "number").map(({ name }) => name);
  const names = numeric.length ? numeric : columns.map(({ name }) => name);
  const set = (index: number, changed: { name?: string; column?: string }) => change({ aggregates: model.aggregates.map((one, at) => (at === index ? { ...one, ...changed } : one)) });
  return (
    <fieldset class="group">
      <legend>Functions of all rows</legend>
      {model.aggregates.map((one, index) => (
        <div key={index} class="filter">
          <select aria-label={`Function ${index + 1}`} value={one.name} onChange={(event) => set(index, { name: event.currentTarget.value, column: event.currentTarget.value === "count" ? "" : one.column || names[0]! })}>
            {FUNCTIONS.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
          {one.name !== "count" && (
            <select aria-label={`Column of function ${index + 1}`} value={one.column} onChange={(event) => set(index, { column: event.currentTarget.value })}>
              {(names.includes(one.column) ? names : [one.column, ...names]).map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
          <Button class="quiet" onClick={() => change({ aggregates: model.aggregates.filter((_, at) => at !== index), ...(model.aggregates.length === 1 ? { group: "", order: { ...model.order, column: "" } } : {}) })} label={`Remove function ${index + 1}`}>
            Remove
          </Button>
        </div>
      ))}
      <div class="select-row">
        <Button onClick={() => change({ columns: [], aggregates: [...model.aggregates, { name: FUNCTIONS.find((name) => !model.aggregates.some((one) => one.name === name)) ?? "max", column: names[0]! }] })}>Add a function</Button>
        {model.aggregates.length > 0 && (
          <Choose
            label="For each"
            value={model.group}
            options={["", ...(columns.some(({ type }) => type === "time") ? TIME_UNITS : []), ...columns.filter(({ type }) => type === "text" || type === "boolean").map(({ name }) => name)]}
            none="–"
            onChange={(group) => change({ group, order: EMPTY_SELECT.order, rows: EMPTY_SELECT.rows })}
          />
        )}
      </div>
    </fieldset>
  );
}
