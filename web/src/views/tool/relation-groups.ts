// The kinds of relations in words. Pure.

const TITLES: Record<string, string> = {
  needs_output_of: "Needs the output of",
  alternative: "Instead of it",
  use_instead: "Instead of it",
  then: "Often called next",
  see_also: "See also",
};

export interface RelationGroup {
  title: string;
  names: string[];
}

/** Group relations by their title; each tool once in a group, in the order given. */
export function groupRelations(relations: readonly { kind: string; name: string }[]): RelationGroup[] {
  const groups = new Map<string, Set<string>>();
  for (const { kind, name } of relations) {
    const title = TITLES[kind] ?? (kind ? kind[0]!.toUpperCase() + kind.slice(1).replaceAll("_", " ") : "Related");
    groups.set(title, (groups.get(title) ?? new Set()).add(name));
  }
  return [...groups].map(([title, names]) => ({ title, names: [...names] }));
}
