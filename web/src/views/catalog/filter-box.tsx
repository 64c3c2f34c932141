// Filters by source and category, with counts.

import type { JSX } from "preact";

import type { Catalog, CatalogSource } from "../../api-types";
import { Field } from "../../components";
import { formatNumber } from "../../format";
import type { Counts, Filters } from "./rows";

export interface FilterBoxProps {
  catalog: Catalog;
  filters: Filters;
  /** Undefined where a search found more than is listed. */
  counts: Counts | undefined;
  onChange: (filters: Filters) => void;
}

export function FilterBox({ catalog, filters, counts, onChange }: FilterBoxProps): JSX.Element {
  const several = catalog.sources.length > 1;
  const shown = catalog.sources.filter(({ id }) => !filters.source || id === filters.source);
  return (
    <div class="filters">
      {several && (
        <Field label="Source">
          {(ids) => (
            <select {...ids} value={filters.source} onChange={(event) => onChange({ source: event.currentTarget.value, category: "" })}>
              <option value="">All sources</option>
              {catalog.sources.map(({ id, title }) => (
                <option key={id} value={id}>
                  {withCount(title || id, counts?.sources.get(id), counts)}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      <Field label="Category">
        {(ids) => (
          <select {...ids} value={filters.category} onChange={(event) => onChange({ ...filters, category: event.currentTarget.value })}>
            <option value="">All categories</option>
            {shown.map((source) =>
              several && !filters.source ? (
                <optgroup key={source.id} label={source.title || source.id}>
                  <Categories source={source} counts={counts} />
                </optgroup>
              ) : (
                <Categories key={source.id} source={source} counts={counts} />
              ),
            )}
          </select>
        )}
      </Field>
    </div>
  );
}

function Categories({ source, counts }: { source: CatalogSource; counts: Counts | undefined }): JSX.Element {
  return (
    <>
      {source.categories.map(({ id, title }) => (
        <option key={id} value={id}>
          {withCount(title || id, counts?.categories.get(id), counts)}
        </option>
      ))}
    </>
  );
}

const withCount = (title: string, count: number | undefined, counts: Counts | undefined): string => (counts ? `${title} (${formatNumber(count ?? 0)})` : title);
