// Dates and times of answers, as numbers for the axis of a chart.

export type Time = {
  /** Seconds since 1970. A time without a zone is taken as UTC, and shown as it is written. */
  seconds: number;
  /** What the text says: a day has no hours, and only an instant has a zone. */
  precision: "year" | "quarter" | "month" | "day" | "time";
  /** Offset from UTC in minutes; undefined without a zone. */
  offset?: number;
};

const FORM = /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|[+-]\d{2}:?\d{2})?)?)?)?$/;
const QUARTER = /^(\d{4})[- ]?Q([1-4])$/i;

/** Return the time that a text states, or null for any other text. */
export function parseTime(text: string): Time | null {
  const quarter = QUARTER.exec(text);
  if (quarter) return { seconds: utc(Number(quarter[1]), Number(quarter[2]) * 3 - 2, 1), precision: "quarter" };
  const found = FORM.exec(text);
  if (!found) return null;
  const [, year, month, day, hour, minute, second, , zone] = found;
  if (!inRange(month, 1, 12) || !inRange(day, 1, 31) || !inRange(hour, 0, 23) || !inRange(minute, 0, 59) || !inRange(second, 0, 60)) return null;
  const start = utc(Number(year), Number(month ?? 1), Number(day ?? 1));
  if (day && new Date(start * 1000).getUTCDate() !== Number(day)) return null; // 2026-02-30
  if (hour === undefined) return { seconds: start, precision: day ? "day" : month ? "month" : "year" };
  const fraction = found[7] ? Number(`0.${found[7]}`) : 0;
  const offset = zone === undefined ? undefined : offsetOf(zone);
  const seconds = start + Number(hour) * 3600 + Number(minute) * 60 + Number(second ?? 0) + fraction - (offset ?? 0) * 60;
  return { seconds, precision: "time", ...(offset === undefined ? {} : { offset }) };
}

const DATE_COLUMN = /date|time|epoch/i;
const YEAR_COLUMN = /^(?:\w+[ _])?year$/i;

/** Seconds and milliseconds since 1970 of the years 1990 to 2100, in which nobody counts anything else below such a name. */
const EPOCH_S = [631_152_000, 4_102_444_800] as const;

/** Return the time that a number states in a column of this name: a year, or the time since 1970; null for any other number. */
export function timeOfNumber(name: string, value: number): Time | null {
  if (YEAR_COLUMN.test(name)) return Number.isInteger(value) && value >= 1000 && value < 3000 ? { seconds: utc(value, 1, 1), precision: "year" } : null;
  if (!DATE_COLUMN.test(name)) return null;
  const [least, most] = EPOCH_S;
  const seconds = value > most ? value / 1000 : value;
  return seconds >= least && seconds <= most ? { seconds, precision: "time", offset: 0 } : null;
}

function inRange(digits: string | undefined, least: number, most: number): boolean {
  return digits === undefined || (Number(digits) >= least && Number(digits) <= most);
}

function utc(year: number, month: number, day: number): number {
  const date = new Date(Date.UTC(2000, month - 1, day));
  date.setUTCFullYear(year, month - 1, day); // Date.UTC reads the years 0 to 99 as 1900 to 1999
  return date.getTime() / 1000;
}

function offsetOf(zone: string): number {
  if (zone === "Z") return 0;
  const [, sign, hours, minutes] = /([+-])(\d{2}):?(\d{2})/.exec(zone) ?? [];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

/** Return how an offset is written: "UTC", "UTC+05:30". */
export function offsetName(minutes: number): string {
  if (!minutes) return "UTC";
  const two = (value: number) => String(value).padStart(2, "0");
  const whole = Math.abs(minutes);
  return `UTC${minutes < 0 ? "-" : "+"}${two(Math.floor(whole / 60))}:${two(whole % 60)}`;
}
