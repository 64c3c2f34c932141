// What a model has read and written so far, with its tokens.

import { countTokens } from "../api";
import type { Json } from "../api-types";
import type { ToolAnswer } from "../mcp";

export type Step = {
  /** "Definitions", "Request", "TOOL_LIST", "TOOL_GET". */
  title: string;
  /** What was asked: the arguments of the call, or the request. */
  asked: string;
  /** The text of the answer; empty for what has none. */
  text: string;
  /** Tokens of both; null where they could not be counted. */
  tokens: number | null;
};

/** Return the step of a call that was answered. The model writes its arguments, and reads its text. */
export async function stepOf(title: string, given: { [name: string]: Json }, answer: ToolAnswer, signal?: AbortSignal): Promise<Step> {
  const asked = JSON.stringify(given);
  const counted = await countTokens([asked, answer.text], signal);
  const tokens = counted.ok ? counted.value.reduce((sum, one) => sum + one, 0) : null;
  return { title, asked, text: answer.text, tokens };
}

/** Return the sums after each step. A step that was not counted adds nothing. */
export function runningSums(steps: readonly Step[]): number[] {
  let sum = 0;
  return steps.map(({ tokens }) => (sum += tokens ?? 0));
}
