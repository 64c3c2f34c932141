// A call that waits: what would be sent, to which source, for whom, and how long it can still be decided.

import type { JSX } from "preact";
import { useId } from "preact/hooks";

import type { WaitingCall } from "../../api-types";
import { Button, formatSeconds, useNow } from "../../components";
import { href } from "../../router";
import { SafeText } from "../../try/safe-text";

export function WaitingCard({ call, onDecide }: { call: WaitingCall; onDecide: (approve: boolean) => void }): JSX.Element {
  const id = useId();
  const leftS = useSecondsLeft(call);
  const isExpired = leftS <= 0;
  return (
    <article class="waiting" aria-labelledby={id}>
      <h2 id={id}>
        <a href={href("tool", call.tool)}>
          <SafeText text={call.tool} />
        </a>
      </h2>
      <p class="effect-text">
        <SafeText text={call.effect} />
      </p>
      <CallTerms call={call} />
      <p class={`time-left ${leftS < 60 ? "urgent" : ""}`}>{isExpired ? "Expired. Let the client make the call again." : `Expires in ${formatSeconds(leftS)}`}</p>
      <div class="decide">
        <Button kind="primary" disabled={isExpired} onClick={() => onDecide(true)} label={`Approve ${call.tool}`}>
          Approve …
        </Button>
        <Button disabled={isExpired} onClick={() => onDecide(false)} label={`Deny ${call.tool}`}>
          Deny …
        </Button>
      </div>
    </article>
  );
}

/** Everything that identifies the call, as `toolfold approve` prints it. */
export function CallTerms({ call }: { call: WaitingCall }): JSX.Element {
  const given = Object.entries(call.arguments_text);
  return (
    <dl class="call-terms">
      <div>
        <dt>source</dt>
        <dd>
          <SafeText text={call.endpoint ? `${call.source} (${call.endpoint})` : call.source} />
        </dd>
      </div>
      <div>
        <dt>caller</dt>
        <dd>{call.caller ? <SafeText text={call.caller} /> : "not known: no access token and no key in the request"}</dd>
      </div>
      {given.map(([name, value]) => (
        <div key={name} class="argument">
          <dt>
            <SafeText text={name} />
          </dt>
          <dd>
            <ArgumentValue text={value} />
          </dd>
        </div>
      ))}
      {given.length === 0 && (
        <div>
          <dt>arguments</dt>
          <dd>none</dd>
        </div>
      )}
    </dl>
  );
}

/** A value as JSON: text in quotes, so that the number 7 differs from the text "7". A parsed number could lose digits. */
function ArgumentValue({ text }: { text: string }): JSX.Element {
  return (
    <code class="argument-value">
      <SafeText text={text} />
    </code>
  );
}

/** Return the seconds until a call expires; it counts down while it is shown. */
export function useSecondsLeft(call: WaitingCall): number {
  return (Date.parse(call.expires_at) - useNow()) / 1000;
}
