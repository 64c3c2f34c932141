import type { JSX } from "preact";

/** Grey lines in place of what is still loading. */
export function Skeleton({ lines = 4, label = "Loading" }: { lines?: number; label?: string }): JSX.Element {
  return (
    <div class="skeleton" role="status" aria-label={label}>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} class="skeleton-line" />
      ))}
    </div>
  );
}
