import type { ComponentChildren, JSX } from "preact";

import type { Failure } from "../result";
import { Button } from "./button";

export interface NoticeProps {
  kind?: "info" | "warning" | "error";
  title?: ComponentChildren;
  children?: ComponentChildren;
  class?: string;
}

/** A message in a box. Errors are announced as soon as they appear. */
export function Notice({ kind = "info", title, children, class: name = "" }: NoticeProps): JSX.Element {
  return (
    <div class={`notice ${kind} ${name}`} role={kind === "error" ? "alert" : undefined}>
      {title && <p class="notice-title">{title}</p>}
      {children}
    </div>
  );
}

/** An error with its next step, its code, and a button that tries again. */
export function FailureNotice({ error, onRetry }: { error: Failure; onRetry?: () => void }): JSX.Element {
  return (
    <Notice kind="error" title={error.message}>
      {error.next_step && <p>{error.next_step}</p>}
      <p class="notice-foot">
        <code>{error.code}</code>
        {onRetry && <Button onClick={onRetry}>Try again</Button>}
      </p>
    </Notice>
  );
}

/** What a view shows where there is nothing to list. */
export function Empty({ title, children }: { title: ComponentChildren; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
