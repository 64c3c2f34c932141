// The live region, which screen readers say when its text changes.

import type { JSX } from "preact";

const ID = "announcement";

/** Where `announce` writes; a page has it once. */
export function LiveRegion(): JSX.Element {
  return <div id={ID} class="visually-hidden" role="status" aria-live="polite" />;
}

/** Say a change to people who cannot see it, such as "12 tools found". */
export function announce(text: string): void {
  const region = document.getElementById(ID);
  // The same text again is a change too, which a screen reader says: a space that nobody hears makes it one.
  if (region) region.textContent = text === region.textContent ? `${text}\u00a0` : text;
}
