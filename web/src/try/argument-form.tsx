// The form of a tool's arguments.

import type { JSX } from "preact";

import type { Json } from "../api-types";
import { Button, Field } from "../components";
import { formatJson } from "../format";
import type { BooleanField, ChoiceField, Field as FieldModel, ListField, NumberField, ObjectField, TextField, VariantField } from "./fields";
import { type Problem, type Value, emptyValue } from "./form-values";
import { SafeText } from "./safe-text";

export type FormProps<F extends FieldModel> = {
  field: F;
  value: Value;
  onChange: (value: Value) => void;
  path: string[];
  problems: readonly Problem[];
};

/** The event of a control whose value a person changed. */
type Entered = { currentTarget: { value: string } };

/** The fields of an object: those that are required first, as the schema has them. */
export function ArgumentForm({ field, value, onChange, path, problems }: FormProps<ObjectField>): JSX.Element {
  const values = value as { [name: string]: Value };
  const ordered = [...field.fields.filter((inner) => inner.required), ...field.fields.filter((inner) => !inner.required)];
  return (
    <div class="argument-fields">
      {ordered.map((inner) => (
        <Control
          key={inner.name}
          field={inner}
          value={values[inner.name] ?? emptyValue(inner)}
          onChange={(next) => onChange({ ...values, [inner.name]: next } as Value)}
          path={[...path, inner.name]}
          problems={problems}
        />
      ))}
    </div>
  );
}

function Control(props: FormProps<FieldModel>): JSX.Element {
  const { field } = props;
  if (field.kind === "object") return <Group {...props} field={field} />;
  if (field.kind === "list") return <List {...props} field={field} />;
  if (field.kind === "variant") return <Variant {...props} field={field} />;
  return (
    <Field label={<SafeText text={field.title} />} hint={<Hint field={field} />} error={problemOf(props)} required={field.required}>
      {(ids) => {
        const common = { ...ids, "data-path": props.path.join("/"), "aria-required": field.required || undefined };
        const onText = (event: Entered) => props.onChange(event.currentTarget.value);
        if (field.kind === "choice") return <Choice {...common} field={field} value={props.value as string} onChange={onText} />;
        if (field.kind === "boolean") return <YesNo {...common} field={field} value={props.value as string} onChange={onText} />;
        if (field.kind === "json") return <textarea {...common} rows={4} class="mono" value={props.value as string} onInput={onText} spellcheck={false} placeholder="JSON" />;
        if (field.kind === "text" && field.input === "long") return <textarea {...common} rows={5} value={props.value as string} onInput={onText} />;
        return <TextInput {...common} field={field as TextField | NumberField} value={props.value as string} onInput={onText} />;
      }}
    </Field>
  );
}

type Ids = { id: string; "aria-describedby": string | undefined; "aria-invalid": true | undefined; "data-path": string; "aria-required": boolean | undefined };

function Choice({ field, value, onChange, ...ids }: Ids & { field: ChoiceField; value: string; onChange: (event: Entered) => void }): JSX.Element {
  const isDefault = (choice: Json) => field.default !== undefined && formatJson(choice) === formatJson(field.default);
  return (
    <select {...ids} value={value} onChange={onChange}>
      <option value="">{field.default === undefined ? (field.required ? "Choose…" : "–") : `– (default: ${formatJson(field.default).replace(/^"|"$/g, "")})`}</option>
      {field.choices.map(({ value: choice, title }, index) => (
        <option key={index} value={String(index)}>
          {title || '""'}
          {isDefault(choice) ? " (default)" : ""}
        </option>
      ))}
    </select>
  );
}

function YesNo({ field, value, onChange, ...ids }: Ids & { field: BooleanField; value: string; onChange: (event: Entered) => void }): JSX.Element {
  return (
    <select {...ids} value={value} onChange={onChange}>
      <option value="">{field.default === undefined ? "–" : `– (default: ${String(field.default)})`}</option>
      <option value="true">true</option>
      <option value="false">false</option>
    </select>
  );
}

function TextInput({ field, value, onInput, ...ids }: Ids & { field: TextField | NumberField; value: string; onInput: (event: Entered) => void }): JSX.Element {
  const isNumber = field.kind === "number";
  const forms = { date: "YYYY-MM-DD", month: "YYYY-MM", time: "HH:MM:SS", datetime: "YYYY-MM-DDTHH:MM:SS" } as Record<string, string>;
  // Dates are text: toolfold reads other spellings too, and a browser's own control would refuse them.
  return (
    <input
      {...ids}
      type="text"
      inputMode={isNumber ? (field.integer ? "numeric" : "decimal") : field.input === "email" ? "email" : field.input === "url" ? "url" : "text"}
      value={value}
      onInput={onInput}
      placeholder={isNumber ? "" : (forms[field.input] ?? "")}
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
    />
  );
}

function Group({ field, ...rest }: FormProps<ObjectField>): JSX.Element {
  return (
    <fieldset class="group">
      <Legend field={field} />
      <GroupHint field={field} error={problemOf({ field, ...rest })} />
      <ArgumentForm field={field} {...rest} />
    </fieldset>
  );
}

function List({ field, value, onChange, path, problems }: FormProps<ListField>): JSX.Element {
  const items = value as Value[];
  const change = (index: number, next: Value) => onChange(items.map((item, at) => (at === index ? next : item)));
  return (
    <fieldset class="group" data-path={path.join("/")}>
      <Legend field={field} />
      <GroupHint field={field} error={problemOf({ field, path, problems })} />
      {items.map((item, index) => (
        <div key={index} class={isSimple(field.item) ? "list-item" : "list-item stacked"}>
          <Control field={{ ...field.item, title: `${field.title || "Value"} ${index + 1}`, required: false }} value={item} onChange={(next) => change(index, next)} path={[...path, String(index)]} problems={problems} />
          <Button class="quiet" onClick={() => onChange(items.filter((_, at) => at !== index))} label={`Remove ${field.title} ${index + 1}`}>
            Remove
          </Button>
        </div>
      ))}
      <Button onClick={() => onChange([...items, emptyValue(field.item)])} disabled={items.length >= field.maxItems}>
        Add {field.title.length <= 30 ? field.title : "one"}
      </Button>
    </fieldset>
  );
}

function isSimple(field: FieldModel): boolean {
  return field.kind !== "object" && field.kind !== "list" && field.kind !== "variant" && field.kind !== "json";
}

function Variant({ field, value, onChange, path, problems }: FormProps<VariantField>): JSX.Element {
  const { variant, value: inner } = value as { variant: number; value: Value };
  const chosen = field.variants[variant]!;
  return (
    <fieldset class="group">
      <Legend field={field} />
      <GroupHint field={field} error="" />
      <Field label="Form">
        {(ids) => (
          <select {...ids} value={String(variant)} onChange={(event) => onChange({ variant: Number(event.currentTarget.value), value: emptyValue(field.variants[Number(event.currentTarget.value)]!) })}>
            {field.variants.map((one, index) => (
              <option key={index} value={String(index)}>
                {one.title}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Control key={variant} field={{ ...chosen, title: "Value", required: field.required }} value={inner} onChange={(next) => onChange({ variant, value: next })} path={path} problems={problems} />
    </fieldset>
  );
}

function Legend({ field }: { field: FieldModel }): JSX.Element {
  return (
    <legend>
      <SafeText text={field.title} />
      {field.required && <span class="required"> required</span>}
    </legend>
  );
}

function GroupHint({ field, error }: { field: FieldModel; error: string }): JSX.Element {
  return (
    <>
      {field.description && (
        <div class="hint">
          <SafeText text={field.description} />
        </div>
      )}
      {error && <div class="field-error">{error}</div>}
    </>
  );
}

function Hint({ field }: { field: FieldModel }): JSX.Element {
  const facts = factsOf(field);
  return (
    <>
      <SafeText text={field.description} />
      {facts && <span class="facts"> {facts}</span>}
    </>
  );
}

function factsOf(field: FieldModel): string {
  const facts: string[] = [];
  if (field.kind === "number") {
    facts.push(field.integer ? "Whole number" : "Number");
    if (field.minimum !== undefined) facts.push(`≥ ${field.minimum}`);
    if (field.exclusiveMinimum !== undefined) facts.push(`> ${field.exclusiveMinimum}`);
    if (field.maximum !== undefined) facts.push(`≤ ${field.maximum}`);
    if (field.exclusiveMaximum !== undefined) facts.push(`< ${field.exclusiveMaximum}`);
  }
  if (field.default !== undefined && field.kind !== "choice" && field.kind !== "boolean") facts.push(`default ${formatJson(field.default).slice(0, 60)}`);
  const example = field.examples[0];
  if (example !== undefined && field.default === undefined) facts.push(`e.g. ${(typeof example === "string" ? example : formatJson(example)).slice(0, 60)}`);
  return facts.join(", ");
}

function problemOf({ path, problems }: { path: string[]; problems: readonly Problem[] } & Partial<FormProps<FieldModel>>): string {
  const own = path.join("/");
  return problems.find((problem) => problem.path.join("/") === own)?.message ?? "";
}
