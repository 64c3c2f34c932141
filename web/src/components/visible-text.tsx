// Text of others, in which a character that cannot be seen, or that turns the direction of what follows, is shown by its number.

import type { JSX } from "preact";

// The same characters as in text_safety.py: controls, zero width, direction, annotations, tags.
const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

const nameOf = (character: string): string => `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

export interface TextPart {
  text: string;
  /** Whether `text` stands for a character that is not shown itself. */
  isUnsafe: boolean;
}

/** Divide text at the characters that are shown by their number. */
export function splitUnsafe(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let begin = 0;
  for (const match of text.matchAll(UNSAFE)) {
    if (match.index > begin) parts.push({ text: text.slice(begin, match.index), isUnsafe: false });
    parts.push({ text: nameOf(match[0]), isUnsafe: true });
    begin = match.index + match[0].length;
  }
  if (begin < text.length) parts.push({ text: text.slice(begin), isUnsafe: false });
  return parts;
}

/** Show text that nothing of this page wrote. It is isolated: its direction ends with it. */
export function VisibleText({ text }: { text: string }): JSX.Element {
  return (
    <bdi>
      {splitUnsafe(text).map((part) =>
        part.isUnsafe ? (
          <span class="unsafe" title="A character that is not visible">
            {part.text}
          </span>
        ) : (
          part.text
        ),
      )}
    </bdi>
  );
}
