// Where the answer of a call appears: what runs, what failed, what was answered.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { Tool } from "../api-types";
import { FailureNotice, Notice } from "../components";
import { formatMs } from "../format";
import { AnswerView } from "./answer-view";
import { ApprovalPanel } from "./approval-panel";
import type { CallState } from "./call";
import { LiveSelect } from "./live-select";

export type AnswerPlaceProps = {
  tool: Tool;
  state: CallState;
  select: string;
  onSelect: (select: string) => void;
  /** The chosen form of the answer. */
  tab: string;
  onTab: (tab: string) => void;
  onRepeat: (token: string) => void;
  onRetry: () => void;
};

export function AnswerPlace({ tool, state, select, onSelect, tab, onTab, onRepeat, onRetry }: AnswerPlaceProps): JSX.Element {
  const { running, answered, failure, cancelled } = state;
  const approval = answered?.answer.error?.approval;
  return (
    <>
      {running && <Running since={running.since} />}
      {cancelled && (
        <Notice kind="warning" title="Cancelled">
          <p>The page no longer waits for this call. {tool.effect === "read" ? "The server may still finish it, and keep its answer." : "The server may still finish it: check before you call again."}</p>
        </Notice>
      )}
      {failure && <FailureNotice error={failure} {...(tool.effect === "read" ? { onRetry } : {})} />}
      {!answered && !running && !failure && !cancelled && (
        <p class="placeholder">The answer appears here: as a table, as a chart, as the text that a model gets, and as JSON.</p>
      )}
      {answered && (
        <div class={`answer-parts ${running ? "is-loading" : ""}`}>
          {approval && <ApprovalPanel approval={approval} suggestion={answered.answer.error!.suggestion} sent={answered.sent} onRepeat={onRepeat} />}
          {answered.answer.error || tool.effect !== "read" || "approval_token" in answered.sent ? (
            <AnswerView answered={answered} tool={tool.name} tab={tab} onTab={onTab} />
          ) : (
            <LiveSelect key={JSON.stringify(answered.sent)} base={answered} tool={tool.name} select={select} onSelect={onSelect} tab={tab} onTab={onTab} />
          )}
        </div>
      )}
    </>
  );
}

/** Elapsed time of the call that runs. */
function Running({ since }: { since: number }): JSX.Element {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="running">
      <progress aria-label="The call runs" />
      <span aria-hidden="true">{formatMs(Math.max(0, now - since))}</span>
    </div>
  );
}
