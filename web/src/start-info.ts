// What this server is and offers: `ui/api/start`, loaded once for the frame and every view.

import { signal } from "@preact/signals";

import { getStart } from "./api";
import type { Start } from "./api-types";
import type { Resource } from "./resource";
import { isAborted } from "./result";

export const startInfo = signal<Resource<Start>>({ state: "loading" });

/** Load it, also again when a person tries again. */
export async function loadStart(): Promise<void> {
  if (startInfo.value.state === "failed") startInfo.value = { state: "loading" };
  const result = await getStart();
  if (result.ok) startInfo.value = { state: "ready", value: result.value };
  else if (!isAborted(result.error)) startInfo.value = { state: "failed", error: result.error };
}

/** Return the loaded answer, or undefined before it. Read it in a component, which then follows it. */
export const loadedStart = (): Start | undefined => (startInfo.value.state === "ready" ? startInfo.value.value : undefined);
