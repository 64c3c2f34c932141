import assert from "node:assert/strict";
import { test } from "node:test";

import { splitUnsafe } from "../src/components/visible-text";

const shown = (text: string): string => splitUnsafe(text).map((part) => (part.isUnsafe ? `[${part.text}]` : part.text)).join("");

test("text that can be seen is one part", () => {
  assert.deepEqual(splitUnsafe("café → 茶 😀\n"), [{ text: "café → 茶 😀\n", isUnsafe: false }]);
});

test("what turns the direction, or cannot be seen, is shown by its number", () => {
  assert.equal(shown("pay\u202Eyap\u2069"), "pay[U+202E]yap[U+2069]");
  assert.equal(shown("a\u200Bb\u0000\uFEFF"), "a[U+200B]b[U+0000][U+FEFF]");
  assert.equal(shown("\u{E0041}"), "[U+E0041]");
  assert.equal(shown("\uD800"), "[U+D800]");
});
