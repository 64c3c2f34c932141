// What a call returns: the columns of its rows, or the catalog's words about it.

import type { JSX } from "preact";

import type { Tool } from "../../api-types";
import { SafeText } from "../../components";

export function Returns({ tool: { columns, returns } }: { tool: Tool }): JSX.Element | null {
  if (!columns.length && !returns) return null;
  return (
    <section class="section" aria-labelledby="returns">
      <h2 id="returns">Returns</h2>
      {columns.length > 0 ? (
        <ul class="names" aria-label="Columns">
          {columns.map((name) => (
            <li key={name}>
              <code>{name}</code>
            </li>
          ))}
        </ul>
      ) : (
        <p>
          <SafeText text={returns} />
        </p>
      )}
    </section>
  );
}
