import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

export interface FieldIds {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

export interface FieldProps {
  label: ComponentChildren;
  /** What may be entered; below the label. */
  hint?: ComponentChildren;
  /** What is wrong with the value; empty when nothing is. */
  error?: string;
  required?: boolean;
  class?: string;
  /** Returns the control; give it the attributes: `{(ids) => <input {...ids} …/>}`. */
  children: (ids: FieldIds) => ComponentChildren;
}

/** A control with its label, hint and error, connected for screen readers. */
export function Field({ label, hint, error, required, class: name = "", children }: FieldProps): JSX.Element {
  const id = useId();
  const described = [hint ? `${id}-hint` : "", error ? `${id}-error` : ""].filter(Boolean).join(" ");
  return (
    <div class={`field ${name}`}>
      <label for={id}>
        {label}
        {required && <span class="required"> required</span>}
      </label>
      {hint && (
        <div class="hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {children({ id, "aria-describedby": described || undefined, "aria-invalid": error ? true : undefined })}
      {error && (
        <div class="field-error" id={`${id}-error`}>
          {error}
        </div>
      )}
    </div>
  );
}
