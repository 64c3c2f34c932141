// A table of any length: the rows in view are rendered; columns sort; a row opens to show its whole cells.

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Json } from "../api-types";
import { Button, CopyButton } from "../components";
import { formatCount, formatNumber } from "../format";
import { announce } from "../announce";
import type { Gap } from "./answer";
import { type Order, cellText, columnWidths, csvOf, fullText, orderOf } from "./cells";
import { SafeText } from "./safe-text";
import type { Column, Table } from "./tables";
import { useWindow } from "./window";

const ROW_HEIGHT = 28;
const HEAD_HEIGHT = 32;

/** Columns that are rendered; a table of thousands is read as JSON. */
const MAX_COLUMNS = 300;

/** `actions`: what stands beside the number of rows, instead of a button that copies them. */
export function TableView({ table, label, gap, actions }: { table: Table; label: string; gap: Gap | undefined; actions?: JSX.Element }): JSX.Element {
  /** The number of a row in the whole answer, of which a preview leaves some rows out. */
  const numberOf = (index: number) => index + 1 + (gap && index >= gap.at ? gap.count : 0);
  const [order, setOrder] = useState<Order | null>(null);
  const [opened, setOpened] = useState<number | null>(null);
  const [active, setActive] = useState(0);
  const columns = table.columns.slice(0, MAX_COLUMNS);
  const indexes = useMemo(() => orderOf(table, order), [table, order]);
  const widths = useMemo(() => columnWidths(table).slice(0, MAX_COLUMNS), [table]);
  const width = widths.reduce((sum, one) => sum + one, 0);
  const { scroller, first, last, before, after, scrollTo } = useWindow(table.rows.length, ROW_HEIGHT, HEAD_HEIGHT);
  const body = useRef<HTMLTableSectionElement>(null);
  const pending = useRef<number | null>(null);
  const focused = useRef<HTMLElement>(undefined);
  useEffect(() => {
    if (pending.current === null) return;
    const button = body.current?.querySelector<HTMLElement>(`[data-row="${pending.current}"]`);
    if (!button) return;
    pending.current = null;
    button.focus({ preventScroll: true });
  });
  // The focused row was scrolled out of view, or sorted away: the focus stays in the table.
  useLayoutEffect(() => {
    if (!focused.current || focused.current.isConnected) return;
    focused.current = undefined;
    if (document.activeElement === document.body && pending.current === null) scroller.current?.focus({ preventScroll: true });
  });

  const sort = (column: number) => {
    const next = order?.column !== column ? { column, descending: false } : order.descending ? null : { column, descending: true };
    setOrder(next);
    setOpened(null);
    announce(next ? `Sorted by ${table.columns[column]!.name}, ${next.descending ? "descending" : "ascending"}` : "In the order of the answer");
  };
  const close = () => {
    body.current?.querySelector<HTMLElement>(`[data-row="${indexes.indexOf(opened!)}"]`)?.focus({ preventScroll: true });
    setOpened(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const from = (event.target as HTMLElement).getAttribute("data-row");
    if (from === null) return;
    const at = Number(from);
    const most = table.rows.length - 1;
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 15, PageUp: at - 15, Home: 0, End: most, Escape: at }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    if (event.key === "Escape") return setOpened(null);
    const to = Math.max(0, Math.min(most, next));
    setActive(to);
    scrollTo(to);
    pending.current = to;
  };
  // The row that Tab reaches is one that is rendered.
  const reachable = Math.max(first, Math.min(last - 1, active));
  return (
    <div class="table-view">
      <div class="table-bar">
        <span>
          {formatCount(table.rows.length, "row")}, {formatCount(table.columns.length, "column")}
          {columns.length < table.columns.length && `, of which ${MAX_COLUMNS} are shown`}
        </span>
        {actions ?? <CopyButton text={() => csvOf(table)} what="table as CSV" />}
      </div>
      <div class="table-scroll" ref={scroller as never} role="region" aria-label={label} tabIndex={0}>
        <table aria-rowcount={table.rows.length + 1} ref={(element) => element?.style.setProperty("min-width", `calc(3.5rem + ${width}ch)`)}>
          <colgroup>
            <col class="row-number" />
            {columns.map((_, index) => (
              <col key={index} ref={(element) => element?.style.setProperty("width", `${((widths[index] ?? 0) / width) * 100}%`)} />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              <th scope="col" class="number">
                <span class="visually-hidden">Row</span>
              </th>
              {columns.map((column, index) => (
                <Head key={index} column={column} direction={order?.column === index ? (order.descending ? "descending" : "ascending") : "none"} onSort={() => sort(index)} />
              ))}
            </tr>
          </thead>
          <tbody ref={body} onKeyDown={onKeyDown}>
            <tr aria-hidden="true" class="filler" ref={before} />
            {indexes.slice(first, last).map((index, offset) => (
              <tr key={first + offset} aria-rowindex={first + offset + 2} class={`${opened === index ? "opened" : ""} ${gap?.at === index && !order ? "after-gap" : ""}`}>
                <td class="number">
                  <button
                    type="button"
                    class="row-button"
                    data-row={first + offset}
                    tabIndex={first + offset === reachable ? 0 : -1}
                    aria-expanded={opened === index}
                    aria-label={`Details of row ${numberOf(index)}`}
                    onFocus={(event) => {
                      focused.current = event.currentTarget;
                      setActive(first + offset);
                    }}
                    onClick={() => setOpened(opened === index ? null : index)}
                  >
                    {formatNumber(numberOf(index))}
                  </button>
                </td>
                {columns.map((column, at) => (
                  <Cell key={at} column={column} value={table.rows[index]![at] ?? null} />
                ))}
              </tr>
            ))}
            <tr aria-hidden="true" class="filler" ref={after} />
          </tbody>
        </table>
      </div>
      {opened !== null && table.rows[opened] && <RowDetails table={table} index={opened} number={numberOf(opened)} onClose={close} />}
    </div>
  );
}

function Head({ column, direction, onSort }: { column: Column; direction: "ascending" | "descending" | "none"; onSort: () => void }): JSX.Element {
  return (
    <th scope="col" class={column.type === "number" ? "number" : ""} aria-sort={direction}>
      <button type="button" class="sort" onClick={onSort}>
        <SafeText text={column.name} />
        <span aria-hidden="true" class="sort-sign">
          {direction === "ascending" ? "▲" : direction === "descending" ? "▼" : ""}
        </span>
      </button>
    </th>
  );
}

function Cell({ column, value }: { column: Column; value: Json }): JSX.Element {
  if (value === null) {
    return (
      <td class={column.type === "number" ? "number none" : "none"}>
        <span aria-hidden="true">–</span>
        <span class="visually-hidden">no value</span>
      </td>
    );
  }
  return <td class={column.type === "number" ? "number" : ""}>{typeof value === "number" ? cellText(value) : <SafeText text={cellText(value)} />}</td>;
}

/** Characters of a cell in the details; the JSON has all of it. */
const MAX_DETAIL = 20_000;

function RowDetails({ table, index, number, onClose }: { table: Table; index: number; number: number; onClose: () => void }): JSX.Element {
  return (
    <section class="row-details" aria-label={`Row ${number}`}>
      <div class="table-bar">
        <h3>Row {formatNumber(number)}</h3>
        <Button class="quiet" onClick={onClose}>Close</Button>
      </div>
      <Record fields={table.columns.map(({ name }, at) => [name, table.rows[index]![at] ?? null])} />
    </section>
  );
}

/** Names and values of a record. */
export function Record({ fields }: { fields: [name: string, value: Json][] }): JSX.Element {
  return (
    <dl class="record">
      {fields.slice(0, 500).map(([name, value], index) => (
        <div key={index}>
          <dt>
            <SafeText text={name} />
          </dt>
          <dd class={typeof value === "number" ? "figure" : ""}>{value === null ? <span class="none">no value</span> : <SafeText text={fullText(value).slice(0, MAX_DETAIL)} />}</dd>
        </div>
      ))}
    </dl>
  );
}
