// Approve: calls that wait for a person, each with all that it would send.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import { decideApproval, getApprovals } from "../api";
import type { Approvals, WaitingCall } from "../api-types";
import { Code, Empty, Notice, Page, PollFailure, PollSwitch, Skeleton } from "../components";
import { formatCount } from "../format";
import { Poller } from "../polling";
import { announce } from "../announce";
import { WaitingCard } from "./approve/card";
import { ApprovalDialog } from "./approve/dialog";

// A person decides within minutes: a call appears within two seconds.
const INTERVAL_MS = 2000;

interface Outcome {
  kind: "info" | "error";
  title: string;
  text: string;
}

interface Question {
  call: WaitingCall;
  approve: boolean;
}

export function ApproveView(): JSX.Element {
  const answer = useSignal<Approvals | null>(null);
  const question = useSignal<Question | null>(null);
  const outcome = useSignal<Outcome | null>(null);
  const poller = useMemo(() => new Poller<Approvals>(getApprovals, (value) => (answer.value = value), INTERVAL_MS), [answer]);
  useEffect(() => poller.start(), [poller]);
  const waiting = answer.value?.waiting ?? [];
  useAnnouncedCount(answer.value === null ? null : waiting.length);

  const decide = async ({ call, approve }: Question) => {
    question.value = null;
    const decided = await decideApproval(call.id, approve);
    outcome.value = decided.ok ? describe(call, decided.value.state) : { kind: "error", title: decided.error.message, text: decided.error.next_step };
    announce(outcome.value.title);
    await poller.poll();
  };

  return (
    <Page
      title="Approve"
      lead="Calls that change or delete something, or that cost something, wait here until a person decides. Nothing has been sent yet."
      aside={<PollSwitch poller={poller} />}
    >
      <PollFailure poller={poller} />
      {outcome.value && (
        <Notice kind={outcome.value.kind} title={outcome.value.title}>
          <p>{outcome.value.text}</p>
        </Notice>
      )}
      {answer.value === null ? (
        poller.state.value.kind === "loading" && <Skeleton label="Loading waiting calls" />
      ) : (
        <>
          {answer.value.mode !== "human" && <OtherMode mode={answer.value.mode} />}
          {answer.value.note && <Notice title={answer.value.note} />}
          {answer.value.mode === "human" && !answer.value.note && waiting.length === 0 && (
            <Empty title="No call waits for approval.">
              <p>When a client calls a tool that needs approval, the call appears here within two seconds.</p>
            </Empty>
          )}
          {waiting.map((call) => (
            <WaitingCard key={call.id} call={call} onDecide={(approve) => (question.value = { call, approve })} />
          ))}
        </>
      )}
      {question.value && (
        <ApprovalDialog
          call={question.value.call}
          approve={question.value.approve}
          onConfirm={() => question.value && void decide(question.value)}
          onClose={() => (question.value = null)}
        />
      )}
    </Page>
  );
}

function useAnnouncedCount(count: number | null): void {
  useEffect(() => {
    if (count) announce(`${formatCount(count, "call waits", "calls wait")} for approval`);
  }, [count]);
}

function describe(call: WaitingCall, state: string): Outcome {
  if (state === "approved") return { kind: "info", title: `Approved: ${call.tool}.`, text: "The client can repeat the call with its token, once. Until it does, nothing is sent." };
  if (state === "denied") return { kind: "info", title: `Denied: ${call.tool}.`, text: "The client is told so when it repeats the call. Nothing was sent." };
  return { kind: "error", title: `${call.tool} is ${state}.`, text: "Your decision changed nothing. If the call is still wanted, let the client make it again." };
}

const MODES: Record<string, string> = {
  agent: "The caller approves: a client repeats the call with its token, after it has asked its user. No call waits here.",
  deny: "Calls that need approval are refused. No call waits here.",
};

function OtherMode({ mode }: { mode: string }): JSX.Element {
  return (
    <Notice title={`Calls are not approved by a person at this server (TOOLFOLD_APPROVE=${mode}).`}>
      <p>{MODES[mode] ?? "No call waits here."} To decide here about each call, start it like this:</p>
      <Code text="TOOLFOLD_APPROVE=human toolfold ui" label="command" wrap />
    </Notice>
  );
}
