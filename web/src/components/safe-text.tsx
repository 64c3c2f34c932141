import type { JSX } from "preact";

import { hasMarks, piecesOf } from "../try/visible";

/** Text of others within a line: characters that hide or turn text are marked. */
export function SafeText({ text }: { text: string }): JSX.Element {
  if (!hasMarks(text)) return <bdi>{text}</bdi>;
  return (
    <bdi>
      {piecesOf(text).map(({ text: piece, isMark }, index) =>
        isMark ? (
          <span key={index} class="mark-character" title="A character that is invisible or changes the text around it">
            {piece}
          </span>
        ) : (
          piece
        ),
      )}
    </bdi>
  );
}
