// What TOOL_GET says about a tool at each level of detail, and what that costs.

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import type { DetailLevel, Tool } from "../../api-types";
import { Button, Code, Tabs, Tokens } from "../../components";
import { replaceQuery, route } from "../../router";

const LEVELS: readonly DetailLevel[] = ["full", "medium", "minimal"];

export function ModelTexts({ tool }: { tool: Tool }): JSX.Element {
  const [isIndented, setIndented] = useState(false);
  const level = LEVELS.find((name) => name === route.value.query.get("level")) ?? "full";
  const shown = indent(tool.texts[level].text);
  return (
    <section class="section" aria-labelledby="model-texts">
      <div class="row spread">
        <h2 id="model-texts">What TOOL_GET says</h2>
        {shown !== undefined && (
          <Button class="quiet" pressed={isIndented} onClick={() => setIndented(!isIndented)}>
            Indent
          </Button>
        )}
      </div>
      <Tabs
        label="Level of detail"
        selected={level}
        onSelect={(name) => replaceQuery({ level: name === "full" ? "" : name })}
        tabs={LEVELS.map((name) => ({
          id: name,
          title: (
            <>
              {name} <Tokens count={tool.texts[name].tokens} />
            </>
          ),
          content: () => <Code text={(isIndented && indent(tool.texts[name].text)) || tool.texts[name].text} label={`what TOOL_GET says at level ${name}`} wrap />,
        }))}
      />
      <p class="soft small">
        {isIndented ? "Indented for people; the model gets it without the spaces." : "Exactly the text that a model gets."} The call:{" "}
        <code>{`TOOL_GET(tool_name="${tool.name}"${level === "full" ? "" : `, detail="${level}"`})`}</code>
      </p>
    </section>
  );
}

/** Return JSON indented, or undefined for other text. */
function indent(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? JSON.stringify(value, null, 2) : undefined;
  } catch {
    return undefined;
  }
}
