// What to try when a search finds no tool.

import type { JSX } from "preact";

import type { Catalog } from "../../api-types";
import { Button, Empty } from "../../components";
import { examples } from "../../examples";
import { formatCount } from "../../format";
import { href } from "../../router";
import type { Filters } from "./rows";

const SHOWN_CATEGORIES = 12;

export interface NothingFoundProps {
  catalog: Catalog;
  query: string;
  filters: Filters;
  /** Hits of the search before the filters, as far as they are known. */
  unfiltered: number;
  onClearFilters: () => void;
}

export function NothingFound({ catalog, query, filters, unfiltered, onClearFilters }: NothingFoundProps): JSX.Element {
  const { words } = examples();
  const categories = catalog.sources.flatMap((source) => source.categories);
  if (filters.source || filters.category)
    return (
      <Empty title={unfiltered > 0 ? `“${query}” matches ${formatCount(unfiltered, "tool")} elsewhere.` : query ? `No tool matches “${query}” here.` : "There are no tools here."}>
        <Button onClick={onClearFilters}>Search all sources and categories</Button>
      </Empty>
    );
  return (
    <Empty title={query ? `No tool matches “${query}”.` : "There are no tools here."}>
      <ul>
        <li>Name the thing and what is to be known of it in a few English words{words.length > 0 && `: ${words.map((word) => `“${word}”`).join(", ")}`}.</li>
        <li>Leave out names of companies, dates and numbers: they are arguments, not tools.</li>
        {query && (
          <li>
            See what a model is told about this request: <a href={href("ask", "", { q: query })}>Ask as a model</a>.
          </li>
        )}
      </ul>
      {categories.length > 0 && (
        <p>
          Or look through a category:{" "}
          {categories.slice(0, SHOWN_CATEGORIES).map(({ id, title }, index) => (
            <span key={id}>
              {index > 0 && ", "}
              <a href={href("catalog", "", { category: id })}>{title || id}</a>
            </span>
          ))}
          .
        </p>
      )}
    </Empty>
  );
}
