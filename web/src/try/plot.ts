// Options of uPlot for a series.

import UPlot from "uplot";

import { hasLonePoint, shortNumber } from "./numbers-of-axis";
import type { Series } from "./series";

type Colours = { text: string; line: string; font: string };

/** Seconds between the marks of the axis of times → how one is written, and what is added where the day or the year changes. */
const TIME_FORMATS: (number | string | null)[][] = [
  [365 * 86_400, "{YYYY}", null, null, null, null, null, null, 1],
  [28 * 86_400, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
  [86_400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
];

/** Seconds between the marks of the axis, where no mark may be within a day: uPlot's own, from a day on. */
const DAY_STEPS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 30, 60, 90, 120, 180, 365, 730, 1825, 3650, 7300, 18_250, 36_500].map((days) => days * 86_400);

/** Pixels beside the chart: half of the label at the end of the axis of times. */
const PADDING: UPlot.Padding = [12, 36, 0, 0];

/** Points of a line that has more are not drawn, but for those without a neighbour to which a line leads. */
const MAX_POINTS = 60;

/** Dashes that tell lines apart without their colours. */
const DASHES = [[], [6, 4], [2, 3], [10, 4, 2, 4]];

/** Return the options of a chart. `onCursor` is called with the index of the point under the cursor. */
export function plotOptions(series: Series, shown: boolean[], lineColours: string[], page: Colours, onCursor: (index: number | null) => void): Omit<UPlot.Options, "width" | "height"> {
  const axes = [...new Set(series.lines.flatMap((line, index) => (shown[index] ? [line.axis] : [])))];
  const font = `12px ${page.font}`;
  const common = { stroke: page.text, font, grid: { stroke: page.line, width: 1 }, ticks: { stroke: page.line, width: 1, size: 4 } };
  return {
    // Times without a zone are shown as they are written, others in the zone that the answer states.
    tzDate: (seconds: number) => UPlot.tzDate(new Date((seconds + series.offset * 60) * 1000), "Etc/UTC"),
    legend: { show: false },
    padding: PADDING,
    cursor: { drag: { x: true, y: false }, points: { size: 7 } },
    scales: { x: { time: true }, ...Object.fromEntries(series.lines.map(({ axis }) => [scaleName(axis), { auto: true }])) },
    series: [
      {},
      ...series.lines.map((line, index) => ({
        label: String(index), // the legend has the names
        show: shown[index] ?? false,
        scale: scaleName(line.axis),
        stroke: lineColours[index] ?? page.text,
        width: 1.75,
        dash: DASHES[Math.floor(line.style / 2) % DASHES.length]!,
        spanGaps: false,
        points: { show: series.seconds.length <= MAX_POINTS || hasLonePoint(line.values) },
      })),
    ],
    axes: [
      { ...common, space: 72, values: TIME_FORMATS, ...(series.precision === "time" ? {} : { incrs: DAY_STEPS }) },
      ...axes.slice(0, 2).map((axis, position) => ({
        ...common,
        scale: scaleName(axis),
        side: position ? (1 as const) : (3 as const),
        grid: { ...common.grid, show: position === 0 },
        size: (_plot: UPlot, values: string[] | null) => 16 + Math.max(4, ...(values ?? []).map((value) => value.length)) * 7,
        values: (_plot: UPlot, ticks: number[]) => ticks.map(shortNumber),
      })),
    ],
    hooks: { setCursor: [(plot: UPlot) => onCursor(plot.cursor.idx ?? null)] },
  };
}

function scaleName(axis: number): string {
  return `y${axis}`;
}
