// The steps of a model in a sentence each, and where the page shows them; and the heading. Pure.

export interface About {
  text: string;
  view: "ask" | "catalog" | "try";
  link: string;
}

export const ABOUT: Record<string, About> = {
  TOOL_LIST: { text: "Finds tools for a request in plain words; the best come with their parameters.", view: "ask", link: "Ask as a model" },
  TOOL_GET: { text: "Describes one tool: parameters, an example, what it returns.", view: "catalog", link: "See what it says" },
  TOOL_CALL: { text: "Calls it, and returns the part of the answer that was asked for.", view: "try", link: "Try a call" },
  TOOL_CALL_WRITE: { text: "Calls a tool that changes data, which TOOL_CALL refuses.", view: "catalog", link: "See the tools" },
};

const WORDS = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];

/** Return the heading: "Three tools instead of 129"; only the name where toolfold has no fewer tools than the catalog. */
export function heading(seen: number | undefined, tools: number): string {
  if (seen === undefined || seen >= tools) return "toolfold";
  return `${WORDS[seen] ?? seen} ${seen === 1 ? "tool" : "tools"} instead of ${tools.toLocaleString("en")}`;
}
