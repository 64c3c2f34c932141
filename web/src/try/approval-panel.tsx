// A call that needs approval: what would be called, and how to go on.

import type { JSX } from "preact";

import type { Json } from "../api-types";
import { Button, JsonCode, Notice } from "../components";
import { href } from "../router";
import type { Approval } from "./answer";
import { SafeText } from "./safe-text";

export type ApprovalPanelProps = {
  approval: Approval;
  /** What the error suggests: it names a command where a person must approve elsewhere. */
  suggestion: string;
  sent: { [name: string]: Json };
  /** Repeat the call with the token of the approval. */
  onRepeat: (token: string) => void;
};

export function ApprovalPanel({ approval, suggestion, sent, onRepeat }: ApprovalPanelProps): JSX.Element {
  const needsPerson = suggestion.includes("toolfold approve");
  const { approval_token: _token, ...call } = sent;
  return (
    <Notice kind="warning" title="This call needs approval. Nothing was sent." class="approval">
      <p>
        <SafeText text={approval.prompt} />
      </p>
      <JsonCode value={call} label="what would be called" copy={false} wrap />
      <p class="button-row">
        {needsPerson && (
          <a class="button" href={href("approve")}>
            Approve or deny
          </a>
        )}
        {approval.token && (
          <Button kind="danger" onClick={() => onRepeat(approval.token)}>
            {needsPerson ? "It is approved: call" : "I approve: call"}
          </Button>
        )}
        {approval.expires && <span class="hint">Valid until {timeOf(approval.expires)}.</span>}
      </p>
    </Notice>
  );
}

function timeOf(text: string): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : date.toLocaleTimeString("en-GB");
}
