// Repeats a request while the page is visible, and waits longer each time while the server does not answer.

import { signal } from "@preact/signals";

import { type Failure, type Result, isAborted } from "./result";

// Seconds until the first attempt after a failure; each further failure doubles them.
const FIRST_RETRY_S = 1;
// The longest of these pauses: a server that was started again is found within a quarter of a minute.
const LONGEST_RETRY_S = 15;

export type PollState = { kind: "loading" } | { kind: "live" } | { kind: "paused" } | { kind: "failed"; error: Failure; retryInS: number };

/** Return the seconds to wait after a number of failures in a row. */
export const retryAfterS = (failures: number): number => Math.min(FIRST_RETRY_S * 2 ** (failures - 1), LONGEST_RETRY_S);

export class Poller<T> {
  readonly state = signal<PollState>({ kind: "loading" });
  readonly #load: (signal: AbortSignal) => Promise<Result<T>>;
  readonly #onValue: (value: T) => void;
  readonly #intervalMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: AbortController | undefined;
  #failures = 0;

  constructor(load: (signal: AbortSignal) => Promise<Result<T>>, onValue: (value: T) => void, intervalMs: number) {
    this.#load = load;
    this.#onValue = onValue;
    this.#intervalMs = intervalMs;
  }

  /** Begin; return what ends it. */
  start(): () => void {
    document.addEventListener("visibilitychange", this.#onVisibility);
    void this.poll();
    return () => {
      document.removeEventListener("visibilitychange", this.#onVisibility);
      this.#cancel();
    };
  }

  pause(): void {
    this.#cancel();
    this.state.value = { kind: "paused" };
  }

  /** Request now, and end a pause. */
  async poll(): Promise<void> {
    this.#cancel();
    if (this.state.peek().kind === "paused") this.state.value = { kind: "live" };
    if (document.hidden) return;
    const running = new AbortController();
    this.#running = running;
    const result = await this.#load(running.signal);
    if (running.signal.aborted || (!result.ok && isAborted(result.error))) return;
    this.#failures = result.ok ? 0 : this.#failures + 1;
    const retryInS = retryAfterS(this.#failures);
    if (result.ok) this.#onValue(result.value);
    this.state.value = result.ok ? { kind: "live" } : { kind: "failed", error: result.error, retryInS };
    this.#timer = setTimeout(() => void this.poll(), result.ok ? this.#intervalMs : retryInS * 1000);
  }

  #cancel(): void {
    clearTimeout(this.#timer);
    this.#running?.abort();
  }

  readonly #onVisibility = (): void => {
    if (document.hidden) this.#cancel();
    else if (this.state.peek().kind !== "paused") void this.poll();
  };
}
