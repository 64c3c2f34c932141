// What a call returns: the columns of its rows, or the catalog's words about it.

import type { JSX } from "preact";

import type { Tool } from "../../api-types";
import { Scroll } from "../../components";

export function Returns({ tool: { columns, returns } }: { tool: Tool }): JSX.Element | null {
  if (!columns.length && !returns) return null;
  const isPlain = columns.every(({ type, unit }) => !type && !unit);
  return (
    <section class="section" aria-labelledby="returns">
      <h2 id="returns">Returns</h2>
      {columns.length === 0 && <p>{returns}</p>}
      {columns.length > 0 && (isPlain ? <Names columns={columns} /> : <Table columns={columns} />)}
    </section>
  );
}

function Names({ columns }: { columns: Tool["columns"] }): JSX.Element {
  return (
    <ul class="names" aria-label="Columns">
      {columns.map(({ name }) => (
        <li key={name}>
          <code>{name}</code>
        </li>
      ))}
    </ul>
  );
}

function Table({ columns }: { columns: Tool["columns"] }): JSX.Element {
  const hasUnits = columns.some(({ unit }) => unit);
  return (
    <Scroll label="Table of columns">
      <table>
        <thead>
          <tr>
            <th scope="col">Column</th>
            <th scope="col">Type</th>
            {hasUnits && <th scope="col">Unit</th>}
          </tr>
        </thead>
        <tbody>
          {columns.map(({ name, type, unit }) => (
            <tr key={name}>
              <th scope="row">
                <code>{name}</code>
              </th>
              <td>{type}</td>
              {hasUnits && <td>{unit}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
