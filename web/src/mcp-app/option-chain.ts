// An option chain: rows with a strike, a type and a date of expiration, as a table of calls and puts for each date.

import type { Json } from "../api-types";
import type { Line } from "../try/series";
import type { Table } from "../try/tables";

export type OptionChain = {
  expirations: string[];
  /** Return the contracts of one date: columns of the calls, the strike, columns of the puts. */
  tableOf: (expiration: string) => Table;
  /** Return the prices of calls and puts by their strike, or the volatility that they imply, as lines of a chart. */
  linesOf: (expiration: string) => Lines | null;
};

/** What a source may say of a contract. */
const FACTS: { [title: string]: RegExp } = {
  ask: /^ask(_?price)?$/i,
  bid: /^bid(_?price)?$/i,
  last: /^(last(_?price)?|price|mark)$/i,
  IV: /^(implied_?volatility|iv)$/i,
};

/** What the table has of it, nearest to the strike first; all else is in the table of the contracts. */
const SHOWN = ["ask", "bid", "last"];

/** What the chart has, the best of what there is. */
const CHARTED = ["IV", "last", "bid"];

export type Lines = { title: string; strikes: number[]; lines: Line[] };

const STRIKE = /^strike(_?price)?$/i;
const TYPE = /^((option_?|contract_?)?type|right|put_?call)$/i;
const EXPIRATION = /^(expiration|expiry|expires)(_?date)?$/i;
const IS_CALL: { [type: string]: boolean } = { call: true, c: true, put: false, p: false };

/** Return the option chain in a table; null where it has none. */
export function optionChainOf(table: Table): OptionChain | null {
  const find = (name: RegExp) => table.columns.findIndex((column) => name.test(column.name));
  const [strike, type, expiration] = [find(STRIKE), find(TYPE), find(EXPIRATION)];
  const sideOf = (row: Json[]) => IS_CALL[String(row[type]).toLowerCase()];
  if (strike < 0 || type < 0 || expiration < 0 || !table.rows.length || !table.rows.every((row) => sideOf(row) !== undefined)) return null;
  const known = (titles: string[]) => titles.flatMap((title) => (find(FACTS[title]!) < 0 ? [] : [{ title, index: find(FACTS[title]!) }]));

  const pairsOf = (chosen: string, facts: { title: string; index: number }[]): Table => {
    const byStrike = new Map<Json, { call?: Json[]; put?: Json[] }>();
    for (const row of table.rows) {
      if (String(row[expiration]) !== chosen) continue;
      const pair = byStrike.get(row[strike]!) ?? {};
      pair[sideOf(row) ? "call" : "put"] = row;
      byStrike.set(row[strike]!, pair);
    }
    const calls = facts.toReversed();
    const names = [...calls.map(({ title }) => `call ${title}`), "strike", ...facts.map(({ title }) => `put ${title}`)];
    const rows = [...byStrike].map(([price, { call, put }]) => [...calls.map(({ index }) => call?.[index] ?? null), price, ...facts.map(({ index }) => put?.[index] ?? null)]);
    rows.sort((one, other) => Number(one[calls.length]) - Number(other[calls.length]));
    return { name: chosen, columns: names.map((name) => ({ name, type: "number" })), rows };
  };
  const linesOf = (chosen: string): Lines | null => {
    const [charted] = known(CHARTED);
    const { rows } = pairsOf(chosen, charted ? [charted] : []);
    if (!charted || rows.length < 2) return null;
    const line = (side: string, column: number): Line => ({
      name: `${side} ${charted.title}`,
      values: rows.map((row) => (typeof row[column] === "number" ? row[column] : null)),
      axis: 0,
      shown: true,
      style: column / 2,
    });
    return { title: charted.title, strikes: rows.map((row) => Number(row[1])), lines: [line("call", 0), line("put", 2)] };
  };
  const expirations = [...new Set(table.rows.map((row) => String(row[expiration])))].sort();
  return { expirations, tableOf: (chosen) => pairsOf(chosen, known(SHOWN)), linesOf };
}
