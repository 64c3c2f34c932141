// Fields of a form.

import type { Json } from "../api-types";

/** A value that a field offers. */
export type Choice = { value: Json; title: string };

export type Base = {
  /** Name of the argument, or of the property of an object. */
  name: string;
  title: string;
  description: string;
  required: boolean;
  /** Whether null is a value. */
  nullable: boolean;
  default?: Json;
  examples: Json[];
};

export type TextField = Base & {
  kind: "text";
  input: "text" | "long" | "date" | "month" | "time" | "datetime" | "email" | "url";
  minLength?: number;
  maxLength?: number;
  pattern?: string;
};
export type NumberField = Base & {
  kind: "number";
  integer: boolean;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
};
export type BooleanField = Base & { kind: "boolean" };
export type ChoiceField = Base & { kind: "choice"; choices: Choice[] };
export type ListField = Base & { kind: "list"; item: Field; minItems: number; maxItems: number; unique: boolean };
export type ObjectField = Base & { kind: "object"; fields: Field[]; oneOf: string[][] };
export type VariantField = Base & { kind: "variant"; variants: Field[] };
export type JsonField = Base & { kind: "json"; type: string };

export type Field =
  | TextField
  | NumberField
  | BooleanField
  | ChoiceField
  | ListField
  | ObjectField
  | VariantField
  | JsonField;
