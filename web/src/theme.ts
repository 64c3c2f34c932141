// The colour theme: the system's, or a choice that this browser remembers. Nothing else is stored.

import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const KEY = "toolfold-theme";
const THEMES: readonly Theme[] = ["system", "light", "dark"];

export const theme = signal<Theme>(readTheme());

function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return THEMES.find((name) => name === stored) ?? "system";
  } catch {
    return "system"; // storage is off
  }
}

/** Use a theme, and remember it where the browser allows that. */
export function setTheme(name: Theme): void {
  theme.value = name;
  applyTheme();
  try {
    if (name === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, name);
  } catch {
    // storage is off: the choice lasts until the page is closed
  }
}

/** Set the theme on the document; the styles do the rest. */
export function applyTheme(): void {
  const root = document.documentElement;
  if (theme.value === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = theme.value;
}
