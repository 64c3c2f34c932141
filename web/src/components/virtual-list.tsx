import {
  type Range,
  Virtualizer,
  type VirtualizerOptions,
  defaultRangeExtractor,
  elementScroll,
  measureElement,
  observeElementOffset,
  observeElementRect,
  observeWindowOffset,
  observeWindowRect,
  windowScroll,
} from "@tanstack/virtual-core";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";

export interface VirtualListHandle {
  /** Scroll an item into view and focus its first link or button. */
  focusItem: (index: number) => void;
}

export interface VirtualListProps {
  count: number;
  /** Expected height of a row in pixels; rows are measured once they are shown. */
  rowHeight: number;
  /** The list's name for screen readers. */
  label: string;
  keyOf: (index: number) => string | number;
  renderRow: (index: number) => ComponentChildren;
  /** "window": the list is part of the page; "element": it scrolls within the height of its class. */
  scroll?: "window" | "element";
  /** Pixels at the top of the window that a sticky bar covers. */
  covered?: number;
  class?: string;
  handle?: { current: VirtualListHandle | null };
  /** Arrow up on the first row, Escape, a letter, or the focused row is gone: for example, focus the search field. */
  onLeave?: () => void;
  /** The row that received the focus. */
  onFocusRow?: (index: number) => void;
}

type Scroller = Virtualizer<Element & Window, HTMLElement>;

/** A list that renders only the rows in view. Arrows, Page Up/Down, Home and End move the focus between rows. */
export function VirtualList(props: VirtualListProps): JSX.Element {
  const { count, rowHeight, label, keyOf, renderRow, scroll = "window", covered = 0, class: name = "", handle, onLeave, onFocusRow } = props;
  const outer = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const pendingFocus = useRef<number>(undefined);
  const focused = useRef<{ index: number; element: HTMLElement }>(undefined);
  const [, render] = useReducer((round: number) => round + 1, 0);
  const [margin, setMargin] = useState(0);
  const options = {
    ...(scroll === "window"
      ? { getScrollElement: () => window, observeElementRect: observeWindowRect, observeElementOffset: observeWindowOffset, scrollToFn: windowScroll, initialOffset: () => window.scrollY }
      : { getScrollElement: () => outer.current, observeElementRect, observeElementOffset, scrollToFn: elementScroll }),
    count,
    estimateSize: () => rowHeight,
    getItemKey: keyOf,
    measureElement,
    overscan: 6,
    // The focused row stays, however far a person scrolls away from it.
    rangeExtractor: (range: Range) => {
      const shown = defaultRangeExtractor(range);
      const index = focused.current?.index;
      return index === undefined || index >= range.count || shown.includes(index) ? shown : [...shown, index].sort((one, other) => one - other);
    },
    scrollMargin: scroll === "window" ? margin : 0,
    scrollPaddingStart: covered,
    onChange: () => render(undefined),
  } as unknown as VirtualizerOptions<Element & Window, HTMLElement>;
  const [scroller] = useState<Scroller>(() => new Virtualizer(options));
  scroller.setOptions(options);
  useEffect(() => scroller._didMount(), [scroller]);
  useLayoutEffect(() => {
    scroller._willUpdate();
    const top = list.current ? list.current.getBoundingClientRect().top + window.scrollY : 0;
    if (scroll === "window" && Math.abs(top - margin) > 1) setMargin(top);
  });

  const focusRow = (index: number) => {
    const target = list.current?.querySelector<HTMLElement>(`[data-index="${index}"] :is(a, button)`);
    if (target) target.focus({ preventScroll: true });
    return target !== null && target !== undefined;
  };
  const focusItem = (index: number) => {
    if (index < 0 || index >= count) return;
    scroller.scrollToIndex(index, { align: "auto" });
    pendingFocus.current = focusRow(index) ? undefined : index;
  };
  if (handle) handle.current = { focusItem };
  useLayoutEffect(() => {
    if (pendingFocus.current !== undefined && focusRow(pendingFocus.current)) pendingFocus.current = undefined;
  });

  // Other rows have come while one was focused: the focus would be lost with its row.
  useLayoutEffect(() => {
    const last = focused.current;
    if (last === undefined) return;
    if (last.element.isConnected) {
      last.index = Number(last.element.closest("[data-index]")?.getAttribute("data-index"));
      return;
    }
    focused.current = undefined;
    if (document.activeElement === document.body && pendingFocus.current === undefined) onLeave?.();
  });

  const onKeyDown = (event: KeyboardEvent) => {
    const row = (event.target as Element).closest?.("[data-index]");
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const index = Number(row.getAttribute("data-index"));
    if (event.key === "Escape" || (event.key === "ArrowUp" && index === 0)) {
      if (!onLeave) return;
      event.preventDefault();
      onLeave();
      return;
    }
    // Typing on: the letter arrives in what has the focus then.
    if (event.key.length === 1 && event.key !== " " && event.key !== "/") return onLeave?.();
    const page = Math.max(1, scroller.getVirtualItems().length - 12);
    const next = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: count - 1, PageDown: Math.min(index + page, count - 1), PageUp: Math.max(index - page, 0) }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    focusItem(next);
  };

  const items = scroller.getVirtualItems();
  const set = (element: HTMLElement | null, property: string, value: string) => element?.style.setProperty(property, value);
  return (
    <div class={`virtual ${scroll === "element" ? "scrolls" : ""} ${name}`} ref={outer}>
      <ul
        aria-label={label}
        onKeyDown={onKeyDown}
        ref={(element) => {
          list.current = element;
          set(element, "height", `${scroller.getTotalSize()}px`);
        }}
      >
        {items.map(({ key, index, start }) => (
          <li
            key={key as string | number}
            data-index={index}
            aria-setsize={count}
            aria-posinset={index + 1}
            onFocusIn={(event) => {
              focused.current = { index, element: event.target as HTMLElement };
              onFocusRow?.(index);
            }}
            onFocusOut={({ target }) => {
              // A row that is removed is left too: the effect above sees that.
              queueMicrotask(() => {
                const { element } = focused.current ?? {};
                if (element === target && element.isConnected && element !== document.activeElement) focused.current = undefined;
              });
            }}
            ref={(element) => {
              set(element, "transform", `translateY(${start - scroller.options.scrollMargin}px)`);
              if (element) scroller.measureElement(element);
            }}
          >
            {renderRow(index)}
          </li>
        ))}
      </ul>
    </div>
  );
}
