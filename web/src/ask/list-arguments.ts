// Arguments of TOOL_LIST as the controls of the view give them.

import type { Json } from "../api-types";

export type Asked = {
  query: string;
  /** Tokens of the answer at most; null: the default of the server. */
  budget: number | null;
  /** Tools at most; null: as many as fit closely. */
  limit: number | null;
  detail: "" | "full" | "medium" | "minimal";
  access: "" | "free" | "mixed" | "premium";
  category: string;
  source: string;
};

export const UNASKED: Asked = { query: "", budget: null, limit: null, detail: "", access: "", category: "", source: "" };

/** Budgets that the slider offers, within what TOOL_LIST allows (100 to 100,000). */
export const BUDGETS = [100, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1250, 1500, 2000, 2500, 3000, 4000, 5000, 6000, 8000, 10_000, 15_000, 20_000];

/** Numbers of tools that the slider offers, within what TOOL_LIST allows (1 to 200). */
export const LIMITS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 40, 50, 75, 100, 150, 200];

/** Return the arguments of TOOL_LIST. Several lines are several requests: the steps of a piece of work. */
export function listArguments(asked: Asked): { [name: string]: Json } {
  const lines = asked.query.split("\n").map((line) => line.trim()).filter(Boolean);
  return {
    ...(lines.length ? { query: lines.length > 1 ? lines : lines[0]! } : {}),
    ...(asked.category ? { category: asked.category } : {}),
    ...(asked.access ? { access: asked.access } : {}),
    ...(asked.source ? { source: asked.source } : {}),
    ...(asked.limit === null ? {} : { limit: asked.limit }),
    ...(asked.budget === null ? {} : { token_budget: asked.budget }),
    ...(asked.detail ? { detail: asked.detail } : {}),
  };
}

/** A tool of TOOL_LIST's structured answer. */
export type Listed = { name: string; level: 1 | 2 | 3; description: string };

export type Listing = { tools: Listed[]; matched: number; total: number; more: number | null };

export const LEVELS = { 1: "in full", 2: "medium", 3: "in a line" } as const;

/** Return the tools of an answer of TOOL_LIST. */
export function listingOf(structured: Json | undefined): Listing {
  const data = (structured ?? {}) as { tools?: { name?: unknown; parameters?: unknown; example_call?: unknown; description?: unknown }[]; matched?: number; total?: number; more?: { offset: number } | null };
  const tools = (Array.isArray(data.tools) ? data.tools : []).flatMap(({ name, parameters, example_call, description }) =>
    typeof name === "string" ? [{ name, level: (example_call ? 1 : parameters ? 2 : 3) as Listed["level"], description: typeof description === "string" ? description : "" }] : [],
  );
  return { tools, matched: data.matched ?? tools.length, total: data.total ?? tools.length, more: data.more?.offset ?? null };
}

/** Return how many tools each level has: "1 in full, 2 medium, 5 in a line". */
export function levelsText({ tools }: Listing): string {
  const counts = ([1, 2, 3] as const).map((level) => [tools.filter((tool) => tool.level === level).length, LEVELS[level]] as const);
  return counts.filter(([count]) => count).map(([count, name]) => `${count} ${name}`).join(", ") || "no tools";
}
