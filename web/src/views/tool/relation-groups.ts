// The kinds of relations in words. Pure.

import type { Tool } from "../../api-types";

const TITLES: Record<string, string> = {
  needs_output_of: "Needs the output of",
  alternative: "Similar tools",
  use_instead: "Call another tool for",
  then: "Often called next",
  see_also: "See also",
};

export interface RelatedTool {
  name: string;
  /** What connects the two, or the need for which the other is called; may be empty. */
  via: string[];
}

export interface RelationGroup {
  title: string;
  tools: RelatedTool[];
}

/** Group relations by their kind; each tool once in a group, in the order given. */
export function groupRelations(relations: Tool["relations"]): RelationGroup[] {
  const groups = new Map<string, Map<string, RelatedTool>>();
  for (const { kind, name, via } of relations) {
    const title = TITLES[kind] ?? (kind ? kind.charAt(0).toUpperCase() + kind.slice(1).replaceAll("_", " ") : "Related");
    const tools = groups.get(title) ?? new Map<string, RelatedTool>();
    groups.set(title, tools);
    const tool = tools.get(name) ?? { name, via: [] };
    tools.set(name, tool);
    if (via) tool.via.push(via);
  }
  return [...groups].map(([title, tools]) => ({ title, tools: [...tools.values()] }));
}
