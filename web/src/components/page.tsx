import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";

export interface PageProps {
  /** The heading, and the title of the window. */
  title: string;
  /** A sentence below the heading. */
  lead?: ComponentChildren;
  /** Badges or buttons beside the heading. */
  aside?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}

/** The frame of a view: its one h1, which receives the focus on navigation. */
export function Page({ title, lead, aside, class: name = "", children }: PageProps): JSX.Element {
  useEffect(() => {
    document.title = `${title} · toolfold`;
  }, [title]);
  return (
    <div class={`page ${name}`}>
      <div class="page-head">
        <h1 tabIndex={-1}>{title}</h1>
        {aside}
      </div>
      {lead && <p class="lead">{lead}</p>}
      {children}
    </div>
  );
}
