// Data of a view: loading, ready or failed, loaded again when its inputs change.

import { useEffect, useRef, useState } from "preact/hooks";

import { type Failure, type Result, isAborted } from "./result";

export type Resource<T> = { state: "loading" } | { state: "ready"; value: T } | { state: "failed"; error: Failure };

/**
 * Load when `inputs` change; the answer to earlier inputs is dropped, and its request cancelled.
 * Returns the resource and a function that loads again. While it loads again, the last value stays.
 */
export function useResource<T>(load: (signal: AbortSignal) => Promise<Result<T>>, inputs: readonly unknown[]): [Resource<T>, () => void] {
  const [resource, setResource] = useState<Resource<T>>({ state: "loading" });
  const [round, setRound] = useState(0);
  const last = useRef<readonly unknown[]>(inputs);
  useEffect(() => {
    const controller = new AbortController();
    if (last.current !== inputs && last.current.some((value, index) => value !== inputs[index])) setResource({ state: "loading" });
    last.current = inputs;
    void load(controller.signal).then((result) => {
      if (controller.signal.aborted) return;
      if (result.ok) setResource({ state: "ready", value: result.value });
      else if (!isAborted(result.error)) setResource({ state: "failed", error: result.error });
    });
    return () => controller.abort();
  }, [...inputs, round]);
  return [resource, () => setRound((count) => count + 1)];
}
