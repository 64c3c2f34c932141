// Calls of one tool: the one that runs, and the last answer.

import { useEffect, useRef, useState } from "preact/hooks";

import { countTokens } from "../api";
import type { Json } from "../api-types";
import { type ToolAnswer, callTool } from "../mcp";
import { type Failure, isAborted } from "../result";
import { announce } from "../announce";
import { formatMs } from "../format";
import { type Answer, answerOf } from "./answer";
import { metaTool } from "./request";

export type Answered = {
  answer: Answer;
  /** The arguments of TOOL_CALL that were sent. */
  sent: { [name: string]: Json };
  ms: number;
  /** Tokens of the text; null until they are counted, or where they could not be. */
  tokens: number | null;
};

export type CallState = {
  running: { since: number; sent: { [name: string]: Json } } | null;
  answered: Answered | null;
  failure: Failure | null;
  cancelled: boolean;
};

const IDLE: CallState = { running: null, answered: null, failure: null, cancelled: false };

export type Caller = {
  state: CallState;
  call: (sent: { [name: string]: Json }) => Promise<Answered | null>;
  cancel: () => void;
  clear: () => void;
};

/**
 * Return the state of calls, and what begins and cancels one. A new call cancels the one that runs.
 * `isRead`: whether calls of the tool only read; `first`: an earlier answer; `what`: what is announced.
 */
export function useCall(isRead: boolean, first: Answered | null = null, what = "Answer"): Caller {
  const [state, setState] = useState<CallState>({ ...IDLE, answered: first });
  const controller = useRef<AbortController>(undefined);
  useEffect(() => () => controller.current?.abort(), []);

  const call = async (sent: { [name: string]: Json }): Promise<Answered | null> => {
    controller.current?.abort();
    const own = new AbortController();
    controller.current = own;
    setState((old) => ({ ...old, running: { since: performance.now(), sent }, failure: null, cancelled: false }));
    const result = await callTool(metaTool({ isRead }), sent, own.signal);
    if (controller.current !== own) return null; // another call has begun, or the view is left
    if (!result.ok) {
      const cancelled = isAborted(result.error);
      setState((old) => ({ ...old, running: null, failure: cancelled ? null : result.error, cancelled }));
      return null;
    }
    const answered: Answered = { answer: answerOf(result.value), sent, ms: result.value.ms, tokens: null };
    setState({ running: null, answered, failure: null, cancelled: false });
    announce(`${what} after ${formatMs(answered.ms)}: ${summaryOf(answered.answer)}`);
    const tokens = await tokensOf(result.value, own.signal);
    if (controller.current === own && tokens !== null) setState((old) => (old.answered === answered ? { ...old, answered: { ...answered, tokens } } : old));
    return { ...answered, tokens };
  };
  const cancel = () => {
    controller.current?.abort();
    announce("Cancelled");
  };
  const clear = () => {
    controller.current?.abort();
    controller.current = undefined;
    setState(IDLE);
  };
  return { state, call, cancel, clear };
}

async function tokensOf({ text }: ToolAnswer, signal: AbortSignal): Promise<number | null> {
  const counted = await countTokens([text], signal);
  return counted.ok ? (counted.value[0] ?? null) : null;
}

/** Return in a few words what an answer is. */
export function summaryOf(answer: Answer): string {
  if (answer.error) return `error ${answer.error.code}. ${answer.error.message}`;
  const rows = answer.tables.reduce((sum, table) => sum + table.rows.length, 0);
  const parts = [];
  if (answer.tables.length) parts.push(`${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}${answer.tables.length > 1 ? ` in ${answer.tables.length} tables` : ""}`);
  else if (answer.fields.length) parts.push(`${answer.fields.length} ${answer.fields.length === 1 ? "field" : "fields"}`);
  else parts.push("text");
  if (answer.notes.length) parts.push(`${answer.notes.length} ${answer.notes.length === 1 ? "note" : "notes"}`);
  return parts.join(", ");
}
