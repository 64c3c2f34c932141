// JSON as a tree: what is closed is not rendered, so that depth and size cost nothing until someone opens them.

import type { JSX } from "preact";
import { useState } from "preact/hooks";

import type { Json } from "../api-types";
import { Button, CopyButton } from "../components";
import { formatCount } from "../format";
import { SafeText } from "./safe-text";

/** Members of one object that are rendered at once. */
const PAGE = 100;

/** Objects and lists of at most this many members are open at first, down to this level. */
const OPEN_MEMBERS = 30;
const OPEN_LEVELS = 3;

/** Characters of a text that are rendered. */
const MAX_TEXT = 2000;

export function JsonView({ value }: { value: Json | undefined }): JSX.Element {
  if (value === undefined) return <p class="hint">This answer has no structured content.</p>;
  return (
    <div class="json-view">
      <div class="table-bar">
        <span>structuredContent, for programs; a model reads the text.</span>
        <CopyButton text={() => indented(value)} what="JSON" />
      </div>
      <div class="json-tree">
        <Node name={null} value={value} level={0} />
      </div>
    </div>
  );
}

function indented(value: Json): string {
  try {
    return JSON.stringify(value, null, 2);
  } catch {
    return "This JSON is nested too deeply to be copied.";
  }
}

function Node({ name, value, level }: { name: string | null; value: Json; level: number }): JSX.Element {
  if (typeof value !== "object" || value === null) {
    return (
      <div class="json-leaf">
        <Name name={name} />
        <Scalar value={value} />
      </div>
    );
  }
  return <Branch name={name} value={value} level={level} />;
}

function Branch({ name, value, level }: { name: string | null; value: Json[] | { [key: string]: Json }; level: number }): JSX.Element {
  const isList = Array.isArray(value);
  const keys = isList ? value.length : Object.keys(value).length;
  const [open, setOpen] = useState(level < OPEN_LEVELS && keys <= OPEN_MEMBERS);
  const [shown, setShown] = useState(PAGE);
  const members = !open ? [] : isList ? value.slice(0, shown).map((item, index): [string, Json] => [String(index), item]) : Object.entries(value).slice(0, shown);
  const size = isList ? formatCount(keys, "item") : formatCount(keys, "member");
  return (
    <div class="json-branch">
      <button type="button" class="json-toggle" aria-expanded={open} onClick={() => setOpen(!open)} disabled={!keys}>
        <span aria-hidden="true" class="json-sign">
          {open ? "▾" : "▸"}
        </span>
        <Name name={name} />
        <span class="json-size">
          {isList ? "[…]" : "{…}"} {size}
        </span>
      </button>
      {open && keys > 0 && (
        <div class={level < 40 ? "json-members" : "json-members flat"}>
          {members.map(([key, member]) => (
            <Node key={key} name={key} value={member} level={level + 1} />
          ))}
          {shown < keys && (
            <Button class="quiet" onClick={() => setShown(shown + 10 * PAGE)}>
              Show {Math.min(10 * PAGE, keys - shown).toLocaleString("en")} more of {keys.toLocaleString("en")}
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

function Name({ name }: { name: string | null }): JSX.Element | null {
  if (name === null) return null;
  return (
    <>
      <span class="json-name">
        <SafeText text={name} />
      </span>
      {": "}
    </>
  );
}

function Scalar({ value }: { value: null | boolean | number | string }): JSX.Element {
  if (typeof value !== "string") return <span class={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
  const rest = value.length - MAX_TEXT;
  return (
    <span class="json-string">
      <SafeText text={JSON.stringify(value.slice(0, MAX_TEXT))} />
      {rest > 0 && <span class="json-size"> … {rest.toLocaleString("en")} more characters</span>}
    </span>
  );
}
