// The numbers of a chart: how its axis writes them, and whether a line shows all of them. Pure.

const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
const LONG = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });
const SMALL = new Intl.NumberFormat("en", { notation: "scientific", maximumFractionDigits: 2 });

/** Whether a line has a value between two that are missing. */
export function hasLonePoint(values: (number | null)[]): boolean {
  return values.some((value, index) => value !== null && (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null);
}

/** Return the label of a mark of an axis of numbers. */
export function shortNumber(value: number): string {
  if (value !== 0 && Math.abs(value) < 1e-4) return SMALL.format(value).toLowerCase();
  return Math.abs(value) >= 100_000 ? SHORT.format(value) : LONG.format(value);
}
