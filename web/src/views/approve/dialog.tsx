// The last question before a call is approved or denied. A dialog element keeps the focus inside and closes on Escape.

import type { JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

import type { WaitingCall } from "../../api-types";
import { Button } from "../../components";
import { SafeText } from "../../try/safe-text";
import { CallTerms, useSecondsLeft } from "./card";

export interface ApprovalDialogProps {
  call: WaitingCall;
  approve: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

export function ApprovalDialog({ call, approve, onConfirm, onClose }: ApprovalDialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isExpired = useSecondsLeft(call) <= 0;
  useEffect(() => {
    // Removing an open dialog does not return the focus to where it was.
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
      else document.querySelector<HTMLElement>("main h1")?.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} class="approval-dialog" aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>
        {approve ? "Approve" : "Deny"} this call of <SafeText text={call.tool} />?
      </h2>
      <p class="effect-text">
        <SafeText text={call.effect} />
      </p>
      <CallTerms call={call} />
      {isExpired && <p class="time-left urgent">It has expired. Let the client make the call again.</p>}
      <div class="decide">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind={approve ? "primary" : "danger"} disabled={isExpired} onClick={onConfirm}>
          {approve ? "Approve this call" : "Deny this call"}
        </Button>
      </div>
    </dialog>
  );
}
