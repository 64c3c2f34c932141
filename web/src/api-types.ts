// The answers of the JSON API, as web/API.md states them.

export interface SourceStatus {
  id: string;
  title: string;
  kind: string;
  tools: number;
  needs_key: boolean;
  has_key: boolean;
}

export interface ClientSetup {
  id: string;
  title: string;
  kind: "command" | "json" | "link";
  text: string;
  file: string | null;
}

export interface Start {
  version: string;
  endpoint: string;
  catalog: { hash: string; tools: number; sources: SourceStatus[] };
  tokens: { definitions: number; all_definitions: number; saved_percent: number };
  clients: ClientSetup[];
}

export interface CatalogTool {
  name: string;
  source: string;
  category: string;
  summary: string;
  effect: string;
  tier: string;
}

export interface CatalogSource {
  id: string;
  title: string;
  kind: string;
  description: string;
  categories: { id: string; title: string }[];
}

export interface Catalog {
  hash: string;
  sources: CatalogSource[];
  tools: CatalogTool[];
}

export interface Search {
  query: string;
  ms: number;
  /** Names of tools, best first. */
  hits: string[];
  total: number;
  /** How many of the first hits match about equally well. */
  best: number;
  /** How well the first hits fit. */
  confidence: "sure" | "weak" | "nothing";
}

export type DetailLevel = "full" | "medium" | "minimal";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type JsonSchema = boolean | { [key: string]: Json };

export interface Tool {
  name: string;
  title: string;
  source: string;
  category: string;
  effect: string;
  tier: string;
  summary: string;
  description: string;
  tags: string[];
  /** What a call returns, as a model reads it. */
  returns: string;
  needs_approval: boolean;
  /** Code of the error that every call has here; null for a tool that may be called. */
  refused: string | null;
  schema: JsonSchema;
  example: { [key: string]: Json } | null;
  columns: string[];
  /** `via`: what connects the two, or the need for which the other is to be taken; may be empty. */
  relations: { kind: string; name: string; via: string }[];
  texts: Record<DetailLevel, { text: string; tokens: number }>;
}

export interface RunningCall {
  id: string;
  tool: string;
  source: string;
  ms: number;
}

export interface WatchedCall {
  id: string;
  time: string;
  tool: string;
  source: string;
  code: string;
  ms: number;
  upstream_ms: number | null;
  cache: string;
  tokens: number | null;
  saved: number | null;
  profile: string | null;
}

export interface WatchedRequest {
  id: string;
  time: string;
  name: string;
  ms: number;
  tokens: number | null;
  saved: number | null;
  code: string;
}

export interface Watch {
  next: number;
  running: RunningCall[];
  calls: WatchedCall[];
  requests: WatchedRequest[];
  figures: { [name: string]: Json };
  limits: { source: string; used_percent: number }[];
  empty_searches: { time: string; query: string }[];
  /** `problem`: why the file cannot be read; `is_complete`: whether all of it was read. */
  log: { file: string; lines: number; problem: string; is_complete: boolean } | null;
}

export interface WaitingCall {
  id: string;
  tool: string;
  source: string;
  /** Where the call would be sent; empty for a source that has no URL. */
  endpoint: string;
  effect: string;
  /** Each argument as JSON, with all digits of its numbers. */
  arguments_text: { [key: string]: string };
  caller: string;
  expires_at: string;
}

export interface Approvals {
  mode: string;
  waiting: WaitingCall[];
  /** Why no calls can be listed; empty where they can. */
  note: string;
}

export interface Decision {
  id: string;
  state: string;
}
