// Typed client of the JSON API below ui/api/. Every address is relative to the page.

import type { Approvals, Catalog, Decision, Search, Start, Tool, Watch } from "./api-types";
import { type Failure, type Result, failure, fromThrown, success } from "./result";

// Longer than the slowest answer of a large catalog; without it a lost connection would load without end.
const TIMEOUT_MS = 30_000;

/** Return an AbortSignal that ends with `signal`, or after `timeoutMs`. */
export function withTimeout(signal: AbortSignal | undefined, timeoutMs: number): AbortSignal {
  const timeout = AbortSignal.timeout(timeoutMs);
  return signal ? AbortSignal.any([signal, timeout]) : timeout;
}

async function request<T>(path: string, init: RequestInit, signal?: AbortSignal): Promise<Result<T>> {
  try {
    const response = await fetch(`ui/api/${path}`, {
      ...init,
      headers: { Accept: "application/json", ...init.headers },
      signal: withTimeout(signal, TIMEOUT_MS),
    });
    const text = await response.text();
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch {
      return failure(response.status, "NOT_JSON", `The server answered with HTTP ${response.status}, and not with JSON.`, "Load the page again.");
    }
    return response.ok ? success(body as T) : readError(response.status, body);
  } catch (thrown) {
    return fromThrown(thrown);
  }
}

function readError(status: number, body: unknown): Result<never> {
  const { error } = (body ?? {}) as { error?: Partial<Failure> };
  return failure(status, error?.code ?? `HTTP_${status}`, error?.message ?? `The server answered with HTTP ${status}.`, error?.next_step ?? "");
}

const get = <T>(path: string, signal?: AbortSignal): Promise<Result<T>> => request<T>(path, { cache: "no-store" }, signal);

const post = <T>(path: string, body: unknown, signal?: AbortSignal): Promise<Result<T>> =>
  request<T>(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }, signal);

export const getStart = (signal?: AbortSignal): Promise<Result<Start>> => get("start", signal);

export const getCatalog = (signal?: AbortSignal): Promise<Result<Catalog>> => get("catalog", signal);

export const search = (query: string, limit: number, signal?: AbortSignal, filters: { source?: string; category?: string } = {}): Promise<Result<Search>> => {
  const given = Object.entries({ q: query, limit: String(limit), ...filters }).filter(([, value]) => value !== "");
  return get(`search?${new URLSearchParams(given)}`, signal);
};

export const getTool = (name: string, signal?: AbortSignal): Promise<Result<Tool>> => get(`tool?${new URLSearchParams({ name })}`, signal);

export const countTokens = async (texts: string[], signal?: AbortSignal): Promise<Result<number[]>> => {
  const counted = await post<{ tokens: number[] }>("tokens", { texts }, signal);
  return counted.ok ? success(counted.value.tokens) : counted;
};

export const getWatch = (after: number, signal?: AbortSignal): Promise<Result<Watch>> => get(`watch?after=${after}`, signal);

export const getApprovals = (signal?: AbortSignal): Promise<Result<Approvals>> => get("approvals", signal);

export const decideApproval = (id: string, approve: boolean, signal?: AbortSignal): Promise<Result<Decision>> => post("approvals", { id, approve }, signal);
