// Errors as values: a request ends in a value or in an error that a person can read.

export interface Failure {
  /** HTTP status; 0 when no response came. */
  status: number;
  /** Stable code, for example "NOT_FOUND" or "NETWORK". */
  code: string;
  message: string;
  /** The next step that works; empty when there is none. */
  next_step: string;
}

export type Result<T> = { ok: true; value: T } | { ok: false; error: Failure };

export const success = <T>(value: T): Result<T> => ({ ok: true, value });

export const failure = (status: number, code: string, message: string, next_step = ""): Result<never> => ({
  ok: false,
  error: { status, code, message, next_step },
});

/** Whether a request ended because its AbortSignal did: nothing is to be shown then. */
export const isAborted = (error: Failure): boolean => error.code === "ABORTED";

/** Return a thrown error of fetch as a failure. */
export function fromThrown(thrown: unknown): Result<never> {
  if (thrown instanceof DOMException && thrown.name === "AbortError") return failure(0, "ABORTED", "The request was cancelled.");
  if (thrown instanceof DOMException && thrown.name === "TimeoutError")
    return failure(0, "TIMEOUT", "The server did not answer in time.", "Try again, or look at the terminal of the server.");
  return failure(0, "NETWORK", "The server cannot be reached.", "Check that toolfold still runs, then try again.");
}
