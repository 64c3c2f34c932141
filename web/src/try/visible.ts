// Text of others as a person can see it: characters that are invisible, or change the direction of text, as marks.

export type Piece = { text: string; isMark: boolean };

/** Control characters but tab and line feed, and characters that change direction, join or hide: as docs/reference/answers.md escapes them. */
const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;

/** Return a text in pieces, of which the marks stand for a character each. */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of text.matchAll(UNSAFE)) {
    if (found.index > from) pieces.push({ text: text.slice(from, found.index), isMark: false });
    pieces.push({ text: markOf(found[0]), isMark: true });
    from = found.index + found[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isMark: false });
  return pieces;
}

/** Whether a text has a character that is shown as a mark. */
export function hasMarks(text: string): boolean {
  // Not test(): it moves lastIndex, from which the next matchAll() would begin.
  return text.search(UNSAFE) >= 0;
}

function markOf(character: string): string {
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Return a text as lines of at most `columns` characters, so that each has the same height on the screen. */
export function wrapLines(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    if (line.length <= columns) {
      lines.push(line);
      continue;
    }
    for (let from = 0; from < line.length; ) {
      let end = from + columns;
      // A pair of surrogates is one character.
      if (end < line.length && (line.charCodeAt(end) & 0xfc00) === 0xdc00) end += 1;
      lines.push(line.slice(from, end));
      from = end;
    }
  }
  return lines;
}
