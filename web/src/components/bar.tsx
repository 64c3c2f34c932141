// A small bar beside a number. The number says it all: the bar is for the eye only.

import type { JSX } from "preact";

/** `share` is between 0 and 1. */
export function Bar({ share }: { share: number }): JSX.Element {
  const width = Math.max(0.5, Math.min(100, share * 100));
  return (
    <svg class="mini-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="mini-bar-track" width="100" height="10" />
      <rect class="mini-bar-value" width={width} height="10" />
    </svg>
  );
}
