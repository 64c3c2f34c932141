// The schema of a tool as a table: parameters, their members, what they may be.

import type { JSX } from "preact";

import type { Json, JsonSchema } from "../../api-types";
import { SafeText } from "../../components";
import { formatJson } from "../../format";
import { type Parameter, readParameters } from "../../schema";

const SHOWN_VALUES = 12;

export function ParameterTable({ schema }: { schema: JsonSchema }): JSX.Element {
  const parameters = readParameters(schema);
  if (!parameters.length) return <p class="soft">It takes no parameters.</p>;
  // The roles are named, because the styles of a narrow page would take them away.
  return (
    <table class="parameters" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th scope="col" role="columnheader">
            Parameter
          </th>
          <th scope="col" role="columnheader">
            Type
          </th>
          <th scope="col" role="columnheader">
            Meaning
          </th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        {parameters.map((parameter, index) => (
          <tr key={`${parameter.path} ${index}`} role="row" class={`depth-${parameter.depth}`}>
            <th scope="row" role="rowheader">
              {parameter.alternative && <span class="required">{parameter.alternative} </span>}
              <code title={parameter.path}>
                <SafeText text={parameter.name} />
              </code>
              {parameter.required && <span class="required"> required</span>}
            </th>
            <td role="cell" class="type">
              {parameter.type}
            </td>
            <td role="cell">
              <Meaning parameter={parameter} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Meaning({ parameter: { description, values, bounds, default: byDefault, examples } }: { parameter: Parameter }): JSX.Element {
  return (
    <>
      {description && (
        <p>
          <SafeText text={description} />
        </p>
      )}
      {values.length > 0 && (
        <p class="rule">
          {values.length === 1 ? "always" : "one of"} <Values values={values} />
        </p>
      )}
      {bounds.length > 0 && <p class="rule">{bounds.join(", ")}</p>}
      {byDefault !== undefined && (
        <p class="rule">
          default <code>{formatJson(byDefault)}</code>
        </p>
      )}
      {values.length === 0 && examples.length > 0 && (
        <p class="rule">
          for example <Values values={examples} />
        </p>
      )}
    </>
  );
}

function Values({ values }: { values: Json[] }): JSX.Element {
  const first = values.length > SHOWN_VALUES + 2 ? values.slice(0, SHOWN_VALUES) : values;
  const others = values.slice(first.length);
  return (
    <>
      <CodeList values={first} />
      {others.length > 0 && (
        <details>
          <summary>{others.length} more</summary>
          <CodeList values={others} />
        </details>
      )}
    </>
  );
}

function CodeList({ values }: { values: Json[] }): JSX.Element {
  return (
    <>
      {values.map((value, index) => (
        <span key={index}>
          {index > 0 && " "}
          <code class="value">
            <SafeText text={typeof value === "string" && value !== "" ? value : formatJson(value)} />
          </code>
        </span>
      ))}
    </>
  );
}
