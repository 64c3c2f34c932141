import type { ComponentChildren, JSX } from "preact";

/** Wide content, such as a table, that scrolls sideways by itself; with the keyboard too. */
export function Scroll({ label, class: name = "", id, children }: { label: string; class?: string; id?: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class={`scroll-x ${name}`} role="region" aria-label={label} tabIndex={0} id={id}>
      {children}
    </div>
  );
}
