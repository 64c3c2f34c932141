// Keep the focus near when what has it is removed or disabled: a button that cancels a call is gone with the call.

const FOCUSABLE = "a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex='0']";

/** Watch an element, whose content changes. Returns what ends that. */
export function keepFocus(root: HTMLElement): () => void {
  let last: HTMLElement | undefined;
  /** What could have the focus before `last`, nearest first, and the elements around it, innermost first. */
  let before: HTMLElement[] = [];
  let around: HTMLElement[] = [];

  const onFocusIn = ({ target }: FocusEvent) => {
    last = target as HTMLElement;
    const all = [...root.querySelectorAll<HTMLElement>(FOCUSABLE)];
    before = all.slice(0, Math.max(0, all.indexOf(last))).reverse();
    around = [];
    for (let parent = last.parentElement; parent && parent !== root; parent = parent.parentElement) around.push(parent);
  };
  const onChange = () => {
    if (!last || (last.isConnected && !last.matches(":disabled"))) return;
    if (document.activeElement !== document.body && document.activeElement !== last) return;
    last = undefined;
    if (focusNear(around, before)) return;
    // Another view has come: the frame focuses its heading, unless the address is the same.
    setTimeout(() => document.activeElement === document.body && root.querySelector<HTMLElement>("h1")?.focus());
  };
  const observer = new MutationObserver(onChange);
  root.addEventListener("focusin", onFocusIn);
  observer.observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] });
  return () => {
    root.removeEventListener("focusin", onFocusIn);
    observer.disconnect();
  };
}

/** Focus what is in the innermost element that is still there: what was before, else the first. Returns whether there is any. */
function focusNear(around: readonly HTMLElement[], before: readonly HTMLElement[]): boolean {
  for (const parent of around) {
    if (!parent.isConnected) continue;
    const earlier = before.filter((element) => parent.contains(element));
    if ([...earlier, ...parent.querySelectorAll<HTMLElement>(FOCUSABLE)].some(takesFocus)) return true;
  }
  return false;
}

/** Focus an element. It may be disabled, or in what is folded. */
function takesFocus(element: HTMLElement): boolean {
  element.focus({ preventScroll: true });
  return document.activeElement === element;
}
