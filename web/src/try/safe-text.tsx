// Text of others: text nodes, with marks for characters that hide or turn text.

import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { CopyButton, SafeText } from "../components";
import { wrapLines } from "./visible";
import { useWindow } from "./window";

export { SafeText };

/** Characters of a text that is rendered as a whole; of a longer one, the lines in view are. */
const MAX_WHOLE = 60_000;

const LINE_HEIGHT = 20;

/** A text of any length, in a fixed-width font, with a button that copies all of it. */
export function TextBlock({ text, label }: { text: string; label: string }): JSX.Element {
  return (
    <div class="code wrap text-block">
      <CopyButton text={text} what={label} />
      {text.length > MAX_WHOLE ? (
        <LongText text={text} label={label} />
      ) : (
        <pre tabIndex={0} role="region" aria-label={label}>
          <SafeText text={text} />
        </pre>
      )}
    </div>
  );
}

/** Lines of equal height, of which only those in view are rendered. */
function LongText({ text, label }: { text: string; label: string }): JSX.Element {
  const probe = useRef<HTMLSpanElement>(null);
  const [columns, setColumns] = useState(80);
  const lines = useMemo(() => wrapLines(text, columns), [text, columns]);
  const { scroller, first, last, before, after } = useWindow(lines.length, LINE_HEIGHT);
  useLayoutEffect(() => {
    const measure = () => {
      const width = probe.current?.getBoundingClientRect().width ?? 0;
      const available = scroller.current?.clientWidth ?? 0;
      if (width && available) setColumns(Math.max(20, Math.floor((available - 24) / (width / 10))));
    };
    measure();
    const observer = new ResizeObserver(measure);
    if (scroller.current) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  return (
    <pre class="long-text" tabIndex={0} role="region" aria-label={`${label}, ${lines.length.toLocaleString("en")} lines`} ref={scroller as never}>
      <span class="probe" aria-hidden="true" ref={probe}>
        0000000000
      </span>
      <div ref={before} />
      {lines.slice(first, last).map((line, index) => (
        <div key={first + index} class="text-line">
          <SafeText text={line} />
        </div>
      ))}
      <div ref={after} />
    </pre>
  );
}
