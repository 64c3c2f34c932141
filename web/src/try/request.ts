// A call as a model makes it.

import type { Json } from "../api-types";

export type Request = {
  tool: string;
  /** Whether its calls only read; else TOOL_CALL_WRITE makes them. */
  isRead: boolean;
  arguments: { [name: string]: Json };
  select: string;
  maxTokens: number | null;
  fresh: boolean;
};

/** Return the meta-tool that makes a call. */
export function metaTool({ isRead }: Pick<Request, "isRead">): "TOOL_CALL" | "TOOL_CALL_WRITE" {
  return isRead ? "TOOL_CALL" : "TOOL_CALL_WRITE";
}

/** Return the arguments of TOOL_CALL, or TOOL_CALL_WRITE. */
export function toolCallArguments({ tool, arguments: given, select, maxTokens, fresh }: Request): { [name: string]: Json } {
  return {
    tool_name: tool,
    arguments: given,
    ...(select.trim() ? { select: select.trim() } : {}),
    ...(maxTokens === null ? {} : { max_tokens: maxTokens }),
    ...(fresh ? { fresh: true } : {}),
  };
}
