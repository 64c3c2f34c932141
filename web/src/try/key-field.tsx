// The caller's key for the source of a tool. It is in the memory of the page (state.ts) and in the header of calls.

import type { JSX } from "preact";

import type { SourceStatus } from "../api-types";
import { Field } from "../components";
import { NOT_SENDABLE, isHeaderText } from "../header-text";
import { apiKeys, setApiKey } from "../state";

export function KeyField({ source }: { source: SourceStatus | undefined }): JSX.Element | null {
  if (!source?.needs_key) return null;
  const key = apiKeys.value[source.id] ?? "";
  return (
    <Field
      class="key-field"
      label={`API key of ${source.title}`}
      error={isHeaderText(key) ? "" : NOT_SENDABLE}
      hint={source.has_key ? "The server has a key; one entered here is used instead. It is in the memory of this page only, and gone when you reload it." : "Needed to call. It is in the memory of this page only, and gone when you reload it."}
    >
      {(ids) => (
        <input
          {...ids}
          type="password"
          autocomplete="off"
          spellcheck={false}
          data-1p-ignore=""
          data-lpignore="true"
          data-bwignore=""
          value={key}
          onInput={(event) => setApiKey(source.id, event.currentTarget.value.trim())}
        />
      )}
    </Field>
  );
}
