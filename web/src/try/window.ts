// Rows of equal height in an element that scrolls: which of them are in view.

import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** Rows that are rendered before and after those in view. */
const OVERSCAN = 12;

export type Window = {
  scroller: RefObject<HTMLElement | null>;
  first: number;
  last: number;
  /** Refs of the elements that take the place of the rows before and after. */
  before: (element: HTMLElement | null) => void;
  after: (element: HTMLElement | null) => void;
  /** Scroll a row into view. */
  scrollTo: (index: number) => void;
};

/** Return which of `count` rows of `height` pixels are in view; `covered` pixels at the top are a sticky head. */
export function useWindow(count: number, height: number, covered = 0): Window {
  const scroller = useRef<HTMLElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const read = () => setView((old) => (old.top === element.scrollTop && old.height === element.clientHeight ? old : { top: element.scrollTop, height: element.clientHeight }));
    read();
    element.addEventListener("scroll", read, { passive: true });
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", read);
      observer.disconnect();
    };
  }, []);
  const first = Math.max(0, Math.min(count - 1, Math.floor(view.top / height)) - OVERSCAN);
  const last = Math.min(count, first + Math.ceil(view.height / height) + 2 * OVERSCAN);
  const setHeight = (pixels: number) => (element: HTMLElement | null) => element?.style.setProperty("height", `${pixels}px`);
  const scrollTo = (index: number) => {
    const element = scroller.current;
    if (!element) return;
    const top = index * height;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + height + covered > element.scrollTop + element.clientHeight) element.scrollTop = top + height + covered - element.clientHeight;
  };
  return { scroller, first, last, before: setHeight(first * height), after: setHeight((count - last) * height), scrollTo };
}
