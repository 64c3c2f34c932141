import type { JSX } from "preact";

import { CopyButton } from "./button";
import { SafeText } from "./safe-text";

export interface CodeProps {
  text: string;
  /** What the text is, for example "the call as curl"; for screen readers and the copy button. */
  label: string;
  copy?: boolean;
  /** Break long lines instead of scrolling sideways. */
  wrap?: boolean;
  /** Limit the height and scroll within the block. */
  short?: boolean;
}

/** Text as it is, in a fixed-width font: one text node, whatever it contains. */
export function Code({ text, label, copy = true, wrap = false, short = false }: CodeProps): JSX.Element {
  return (
    <div class={`code ${wrap ? "wrap" : ""} ${short ? "short" : ""}`}>
      {copy && <CopyButton text={text} what={label} />}
      <pre tabIndex={0} role="region" aria-label={label}>
        <SafeText text={text} />
      </pre>
    </div>
  );
}

/** A value of JSON, indented. */
export function JsonCode({ value, ...rest }: { value: unknown } & Omit<CodeProps, "text">): JSX.Element {
  return <Code text={JSON.stringify(value, null, 2) ?? "undefined"} {...rest} />;
}
