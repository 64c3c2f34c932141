// The conversation with its running sum, against all definitions at once.

import type { JSX } from "preact";

import { Button } from "../components";
import { formatNumber, formatPercent } from "../format";
import { SafeText } from "../try/safe-text";
import { type Step, runningSums } from "./conversation";

export type ConversationViewProps = {
  steps: Step[];
  /** Tokens of the definitions of all tools, which a model would read without toolfold. */
  allDefinitions: number;
  onClear: () => void;
};

export function ConversationView({ steps, allDefinitions, onClear }: ConversationViewProps): JSX.Element {
  const sums = runningSums(steps);
  const sum = sums.at(-1) ?? 0;
  return (
    <section class="conversation" aria-labelledby="conversation-title">
      <div class="form-head">
        <h2 id="conversation-title">Tokens so far</h2>
        <Button class="quiet" onClick={onClear} disabled={steps.length < 2}>
          Begin again
        </Button>
      </div>
      <div class="sums">
        <div>
          <strong>{formatNumber(sum)}</strong> tokens in this conversation
        </div>
        <meter min={0} max={Math.max(allDefinitions, sum, 1)} value={sum} aria-label="Tokens of this conversation, of the definitions of all tools" />
        <div class="hint">
          {formatNumber(allDefinitions)} for the definitions of all tools, before anything is asked
          {sum < allDefinitions && allDefinitions > 0 && <>: {formatPercent((1 - sum / allDefinitions) * 100)} saved</>}.
        </div>
      </div>
      <div class="scroll-x" role="region" aria-label="Steps of the conversation" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col" class="number">
                Tokens
              </th>
              <th scope="col" class="number">
                Sum
              </th>
            </tr>
          </thead>
          <tbody>
            {steps.map((step, index) => (
              <tr key={index}>
                <th scope="row">
                  {step.title}
                  {step.asked && (
                    <code class="asked">
                      <SafeText text={step.asked.slice(0, 300)} />
                    </code>
                  )}
                </th>
                <td class="number">{step.tokens === null ? "not counted" : formatNumber(step.tokens)}</td>
                <td class="number">{formatNumber(sums[index]!)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
