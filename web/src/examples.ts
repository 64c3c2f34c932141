// Requests that the page proposes. They are about what Alpha Vantage has; a catalog without it gets none.

import { loadedStart } from "./start-info";

export interface Examples {
  /** The request that Ask begins with; empty: TOOL_LIST without one. */
  first: string;
  /** Requests that show what the search does: names, a spelling, and what no tool has. */
  requests: readonly string[];
  /** Short ones, as the search of the catalog takes them. */
  words: readonly string[];
}

const NONE: Examples = { first: "", requests: [], words: [] };

const ALPHA_VANTAGE: Examples = {
  first: "daily prices of a stock",
  requests: ["price of Apple", "how volatile is IBM", "oil price per year", "weather in Paris"],
  words: ["oil price", "income statement"],
};

/** Return the examples for this catalog. Read it in a component, which then follows it. */
export const examples = (): Examples => (loadedStart()?.catalog.sources.some(({ kind }) => kind === "alpha_vantage") ? ALPHA_VANTAGE : NONE);
