// Why a search found a tool: the terms, how each was found, and what it adds to the score.

import type { JSX } from "preact";

import type { SearchHit } from "../../api-types";
import { Scroll } from "../../components";
import { formatNumber } from "../../format";
import { explainHit } from "./rows";
import { fieldTitle } from "./terms";

export function Why({ hit, id, labels }: { hit: SearchHit; id: string; labels: Map<string, string> }): JSX.Element {
  const most = Math.max(...hit.terms.map(({ weight }) => weight), 0);
  return (
    <Scroll class="why" id={id} label={`Why ${hit.name} was found`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Term</th>
            <th scope="col">Found by</th>
            <th scope="col" class="number">
              Weight
            </th>
            <td aria-hidden="true" />
          </tr>
        </thead>
        {explainHit(hit).map(({ term, parts }) => (
          <tbody key={term}>
            {parts.map(({ field, weight }, index) => (
              <tr key={field}>
                {index === 0 && (
                  <th scope="rowgroup" rowSpan={parts.length}>
                    {labels.get(term) ?? (term || "–")}
                  </th>
                )}
                <td>{fieldTitle(field)}</td>
                <td class="number">{formatNumber(weight)}</td>
                <td class="share" aria-hidden="true">
                  <svg viewBox="0 0 100 4" preserveAspectRatio="none">
                    <rect width={most > 0 ? (100 * Math.max(weight, 0)) / most : 0} height="4" />
                  </svg>
                </td>
              </tr>
            ))}
          </tbody>
        ))}
        <tfoot>
          <tr>
            <th scope="row" colSpan={2}>
              Score
            </th>
            <td class="number">{formatNumber(hit.score)}</td>
            <td aria-hidden="true" />
          </tr>
        </tfoot>
      </table>
    </Scroll>
  );
}
