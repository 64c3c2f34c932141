import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { announce } from "../announce";

export interface ButtonProps {
  onClick?: (event: MouseEvent) => void;
  /** "primary" for the one main action of a view. */
  kind?: "primary" | "plain" | "danger";
  type?: "button" | "submit";
  disabled?: boolean;
  /** Whether it is switched on; for buttons that switch. */
  pressed?: boolean;
  /** Label for screen readers, where the text alone does not say what it does. */
  label?: string;
  class?: string;
  children: ComponentChildren;
}

export function Button({ kind = "plain", type = "button", pressed, label, class: name = "", children, ...rest }: ButtonProps): JSX.Element {
  return (
    <button type={type} class={`button ${kind} ${name}`} aria-pressed={pressed} aria-label={label} {...rest}>
      {children}
    </button>
  );
}

const SHOWN_MS = 2000;

export interface CopyButtonProps {
  /** The text, or a function that returns it when the button is used. */
  text: string | (() => string);
  /** What is copied, for example "command": the button says "Copy command". */
  what?: string;
  class?: string;
}

export function CopyButton({ text, what = "", class: name = "" }: CopyButtonProps): JSX.Element {
  const [state, setState] = useState<"" | "Copied" | "Not copied">("");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    const done = await copyText(typeof text === "function" ? text() : text);
    setState(done ? "Copied" : "Not copied");
    announce(done ? `${what || "Text"} copied` : "The browser did not allow copying. Select the text and copy it by hand.");
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setState(""), SHOWN_MS);
  };
  return (
    <Button onClick={() => void copy()} class={`copy ${name}`} label={what ? `Copy ${what}` : "Copy"}>
      {state || "Copy"}
    </Button>
  );
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text); // no permission, or a page served over plain HTTP to another machine
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  area.setAttribute("aria-hidden", "true");
  document.body.append(area);
  const focused = document.activeElement;
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}
