// Numbers and names as people read them. Fixed to English, as the page is.

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

/** 33391 → "33,391" */
export const formatNumber = (value: number): string => NUMBER.format(value);

/** formatCount(1, "tool") → "1 tool"; formatCount(129, "tool") → "129 tools" */
export const formatCount = (value: number, noun: string, plural = `${noun}s`): string => `${formatNumber(value)} ${value === 1 ? noun : plural}`;

/** 0.4 → "0.4 ms", 123.4 → "123 ms", 2345 → "2.35 s" */
export function formatMs(ms: number): string {
  if (ms < 10) return `${NUMBER.format(Math.round(ms * 10) / 10)} ms`;
  return ms < 999.5 ? `${Math.round(ms)} ms` : `${NUMBER.format(ms / 1000)} s`;
}

/** 98.04 → "98 %", 99.96 → "99.9 %": a share below the whole never rounds up to it. */
export function formatPercent(percent: number): string {
  if (percent > 99 && percent < 100) return `${Math.floor(percent * 10) / 10} %`;
  return `${Math.round(percent)} %`;
}

/** Return a value of JSON in one line, as it would be written in a request. */
export const formatJson = (value: unknown): string => JSON.stringify(value) ?? "";
