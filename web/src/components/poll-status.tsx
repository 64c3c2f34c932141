// Whether a view that follows the server is up to date, and the button that stops and resumes it.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import type { Poller } from "../polling";
import { announce } from "../announce";
import { Badge } from "./badges";
import { Button } from "./button";
import { Notice } from "./notice";

/** The state in one word, and Pause or Resume. */
export function PollSwitch<T>({ poller }: { poller: Poller<T> }): JSX.Element {
  const { kind } = poller.state.value;
  const isPaused = kind === "paused";
  const toggle = () => {
    if (isPaused) void poller.poll();
    else poller.pause();
    announce(isPaused ? "Resumed" : "Paused");
  };
  return (
    <div class="poll-switch">
      {kind === "live" && <Badge kind="good">live</Badge>}
      {kind === "paused" && <Badge>paused</Badge>}
      {kind === "failed" && <Badge kind="bad">not connected</Badge>}
      <Button onClick={toggle}>{isPaused ? "Resume" : "Pause"}</Button>
    </div>
  );
}

/** Why the view is not up to date. What it shows stays as it was. */
export function PollFailure<T>({ poller }: { poller: Poller<T> }): JSX.Element | null {
  const state = poller.state.value;
  const isFailed = state.kind === "failed";
  useEffect(() => {
    if (!isFailed) return undefined;
    return () => announce("The server answers again");
  }, [isFailed]);
  if (!isFailed) return null;
  return (
    <Notice kind="error" title={state.error.message}>
      {state.error.next_step && <p>{state.error.next_step}</p>}
      <p class="notice-foot">
        <span>The page shows what it last received, and tries again every {state.retryInS} s.</span>
        <Button onClick={() => void poller.poll()}>Try now</Button>
      </p>
    </Notice>
  );
}
