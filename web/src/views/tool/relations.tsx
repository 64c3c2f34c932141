// Related tools, by the kind of relation.

import type { JSX } from "preact";

import type { Tool } from "../../api-types";
import { catalog, findTool } from "../../catalog-data";
import { SafeText } from "../../components";
import { href } from "../../router";
import { groupRelations } from "./relation-groups";

export function Relations({ tool }: { tool: Tool }): JSX.Element | null {
  const groups = groupRelations(tool.relations);
  const known = catalog.value.state === "ready" ? catalog.value.value : undefined;
  if (!groups.length) return null;
  return (
    <section class="section" aria-labelledby="relations">
      <h2 id="relations">Related tools</h2>
      <dl class="relations">
        {groups.map(({ title, tools }) => (
          <div key={title}>
            <dt>{title}</dt>
            {tools.map(({ name, via }) => (
              <dd key={name}>
                <a href={href("tool", name)}>
                  <code>{name}</code>
                </a>{" "}
                <span class="small soft">
                  <SafeText text={via.join("; ") || (known && findTool(known, name)?.summary) || ""} />
                </span>
              </dd>
            ))}
          </div>
        ))}
      </dl>
    </section>
  );
}
