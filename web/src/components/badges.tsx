import type { ComponentChildren, JSX } from "preact";

import { formatNumber } from "../format";

/** A number of tokens: "614 tokens". */
export function Tokens({ count, of }: { count: number; of?: string }): JSX.Element {
  return (
    <span class="badge tokens" title={of && `Tokens of ${of}`}>
      {formatNumber(count)} {count === 1 ? "token" : "tokens"}
    </span>
  );
}

export type BadgeKind = "plain" | "good" | "warning" | "bad" | "accent";

export function Badge({ kind = "plain", children }: { kind?: BadgeKind; children: ComponentChildren }): JSX.Element {
  return <span class={`badge ${kind}`}>{children}</span>;
}

/** What the badges of tools mean, for those that a list of tools has. */
export function BadgeLegend({ tiers }: { tiers: boolean }): JSX.Element {
  return (
    <p class="badge-legend">
      <Effect effect="write" /> changes something <Effect effect="destructive" /> may delete it
      {tiers && (
        <>
          {" "}
          <Tier tier="free" /> any key <Tier tier="mixed" /> some arguments need a premium key <Tier tier="premium" /> needs one
        </>
      )}
    </p>
  );
}

const EFFECTS: Record<string, BadgeKind> = { read: "plain", write: "warning", destructive: "bad" };

/** What a call does: read, write or destructive. */
export function Effect({ effect }: { effect: string }): JSX.Element {
  return <Badge kind={EFFECTS[effect] ?? "warning"}>{effect}</Badge>;
}

/** What a key must allow: free, mixed or premium; nothing for sources without tiers. */
export function Tier({ tier }: { tier: string }): JSX.Element | null {
  return tier ? <Badge kind={tier === "free" ? "good" : "plain"}>{tier}</Badge> : null;
}
