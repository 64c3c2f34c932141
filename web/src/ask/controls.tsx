// The request, and what may be set beside it.

import type { JSX } from "preact";

import type { Start } from "../api-types";
import { Button, Field } from "../components";
import { examples } from "../examples";
import { type Asked, BUDGETS, LIMITS, UNASKED } from "./list-arguments";

export type ControlsProps = { asked: Asked; onChange: (asked: Asked) => void; start: Start; categories: string[] };

export function Controls({ asked, onChange, start, categories }: ControlsProps): JSX.Element {
  const change = (changed: Partial<Asked>) => onChange({ ...asked, ...changed });
  const { sources } = start.catalog;
  const { first, requests } = examples();
  return (
    <div class="ask-controls">
      <Field label="Request" hint="As a model would put it. Several lines are several requests in one call.">
        {(ids) => <textarea {...ids} class="request" rows={3} value={asked.query} maxLength={1000} onInput={(event) => change({ query: event.currentTarget.value })} placeholder={first} />}
      </Field>
      {requests.length > 0 && (
        <p class="button-row" role="group" aria-label="Examples of requests">
          {requests.map((example) => (
            <Button key={example} class="quiet" onClick={() => change({ query: example })}>
              {example}
            </Button>
          ))}
        </p>
      )}
      <Slider label="Token budget" values={BUDGETS} value={asked.budget} unit="tokens" onChange={(budget) => change({ budget })} />
      <Slider label="Number of tools" values={LIMITS} value={asked.limit} unit="tools" onChange={(limit) => change({ limit })} />
      <Choice label="Detail" value={asked.detail} options={["full", "medium", "minimal"]} none="by rank: the best in full" onChange={(detail) => change({ detail: detail as Asked["detail"] })} />
      <details class="options" open={Boolean(asked.category || asked.access || asked.source)}>
        <summary>Filters</summary>
        <div class="ask-filters">
          <Choice label="Category" value={asked.category} options={categories} none="all" onChange={(category) => change({ category })} />
          <Choice label="Access" value={asked.access} options={["free", "mixed", "premium"]} none="all" onChange={(access) => change({ access: access as Asked["access"] })} />
          {sources.length > 1 && <Choice label="Source" value={asked.source} options={sources.map(({ id }) => id)} none="all" onChange={(source) => change({ source })} />}
        </div>
      </details>
      <p class="button-row">
        <Button class="quiet" onClick={() => onChange({ ...UNASKED, query: asked.query })} disabled={Object.entries(asked).every(([name, value]) => name === "query" || value === UNASKED[name as keyof Asked])}>
          Defaults
        </Button>
      </p>
    </div>
  );
}

function Slider({ label, values, value, unit, onChange }: { label: string; values: number[]; value: number | null; unit: string; onChange: (value: number | null) => void }): JSX.Element {
  // The leftmost place is the default of the server.
  const place = value === null ? 0 : values.indexOf(value) + 1;
  const text = value === null ? "default" : `${value.toLocaleString("en")} ${value === 1 ? unit.slice(0, -1) : unit}`;
  return (
    <Field label={label} class="slider">
      {(ids) => (
        <div class="slider-line">
          <input {...ids} type="range" min={0} max={values.length} step={1} value={place} aria-valuetext={text} onInput={(event) => onChange(values[Number(event.currentTarget.value) - 1] ?? null)} />
          <output for={ids.id}>{text}</output>
        </div>
      )}
    </Field>
  );
}

function Choice({ label, value, options, none, onChange }: { label: string; value: string; options: string[]; none: string; onChange: (value: string) => void }): JSX.Element {
  return (
    <Field label={label}>
      {(ids) => (
        <select {...ids} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">{none}</option>
          {options.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
