// The sources of the catalog, and whether a key for them is set.

import type { JSX } from "preact";

import type { SourceStatus, Start } from "../../api-types";
import { Badge, Notice, Scroll } from "../../components";
import { formatNumber } from "../../format";
import { href } from "../../router";

export function SourceTable({ start }: { start: Start }): JSX.Element {
  const { sources } = start.catalog;
  const missing = sources.filter((source) => source.needs_key && !source.has_key);
  return (
    <section class="section" aria-labelledby="sources">
      <h2 id="sources">Sources</h2>
      <Scroll label="Table of sources">
        <table>
          <thead>
            <tr>
              <th scope="col">Source</th>
              <th scope="col">Kind</th>
              <th scope="col" class="number">
                Tools
              </th>
              <th scope="col">Key</th>
            </tr>
          </thead>
          <tbody>
            {sources.map((source) => (
              <tr key={source.id}>
                <th scope="row">
                  <a href={href("catalog", "", { source: source.id })}>{source.title || source.id}</a>
                </th>
                <td>{source.kind.replaceAll("_", " ")}</td>
                <td class="number">{formatNumber(source.tools)}</td>
                <td>
                  <Key source={source} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {missing.length > 0 && (
        <Notice>
          <p>
            {missing.map((source) => source.title || source.id).join(", ")}: no key is set on this server. Enter yours in{" "}
            <a href={href("try")}>Try</a>: the page keeps it in memory, sends it to this endpoint alone, and stores it nowhere. Or set it for the server: <code>toolfold settings</code> lists the variables.
          </p>
        </Notice>
      )}
    </section>
  );
}

function Key({ source }: { source: SourceStatus }): JSX.Element {
  if (!source.needs_key) return <span class="soft">not needed</span>;
  return source.has_key ? <Badge kind="good">set</Badge> : <Badge kind="warning">not set</Badge>;
}
