// Lines as SVG: small enough for an MCP App. The keyboard reads the points; the table has the same values.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { announce } from "../announce";
import { SafeText } from "../components";
import { numberText } from "../try/cells";
import { shortNumber } from "../try/numbers-of-axis";
import type { Line } from "../try/series";

const HEIGHT = 280;
const ROW = 16;

/** Pixels of a letter, and of a value beside the name of its line. */
const LETTER = 7;
const VALUE_WIDTH = 90;

const BOTTOM = 26;
const LABEL_WIDTH = 84;

/** Styles of lines; more lines repeat them. */
const STYLES = 8;

/** Points of a line that has more are not drawn, but for those without a neighbour to which a line leads. */
const MAX_POINTS = 40;

const DASHES = ["", "6 4", "2 3", "10 4 2 4"];

export type LineChartProps = {
  label: string;
  /** Ascending: what the points stand at. */
  positions: number[];
  /** How a position is written, by its index; and in short, below the axis. */
  textOf: (index: number) => string;
  markOf?: (index: number) => string;
  lines: Line[];
};

export function LineChart({ label, positions, textOf, markOf = textOf, lines }: LineChartProps): JSX.Element {
  const place = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(640);
  const [shown, setShown] = useState(() => lines.map((line) => line.shown));
  const [cursor, setCursor] = useState<number | null>(null);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(place.current?.clientWidth || 640));
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);

  const axes = [...new Set(lines.flatMap((line, index) => (shown[index] ? [line.axis] : [])))].slice(0, 2);
  const scales = new Map(axes.map((axis) => [axis, scaleOf(lines.filter((line, index) => shown[index] && line.axis === axis))]));
  const labelsOf = (axis: number | undefined) => (axis === undefined ? [] : scales.get(axis)!.ticks.map(shortNumber));
  const room = (labels: string[]) => 10 + Math.max(3, ...labels.map((one) => one.length)) * LETTER;
  const left = room(labelsOf(axes[0]));
  const right = axes.length > 1 ? room(labelsOf(axes[1])) : 12;
  const last = positions.length - 1;
  const span = positions[last]! - positions[0]! || 1;
  const visible = lines.flatMap((line, index) => (shown[index] && axes.includes(line.axis) ? [line] : []));
  // The values of a point are above the chart, in as many rows as its width needs.
  const valueWidth = VALUE_WIDTH + LETTER * Math.max(6, ...visible.map(({ name }) => name.length));
  const valuesOfRow = Math.max(1, Math.floor((width - left) / valueWidth));
  const top = 12 + ROW * Math.ceil((visible.length + 1) / valuesOfRow);
  const x = (position: number) => left + ((position - positions[0]!) / span) * (width - left - right);
  const y = (value: number, axis: number) => {
    const { low, high } = scales.get(axis)!;
    return top + (1 - (value - low) / (high - low)) * (HEIGHT - top - BOTTOM);
  };
  const nearest = (position: number) => positions.reduce((best, one, index) => (Math.abs(one - position) < Math.abs(positions[best]! - position) ? index : best), 0);
  const marks = marksOf(positions, Math.max(2, Math.floor((width - left - right) / (LABEL_WIDTH + 16))), nearest);
  const valuesAt = (index: number) => [textOf(index), ...visible.map((line) => `${line.name} ${line.values[index] === null ? "–" : numberText(line.values[index]!)}`)];

  const onPointer = (event: PointerEvent) => {
    const box = place.current!.getBoundingClientRect();
    setCursor(nearest(positions[0]! + ((event.clientX - box.left - left) / (width - left - right)) * span));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const from = cursor ?? last;
    const step = event.shiftKey ? 10 : 1;
    const next = { ArrowLeft: from - step, ArrowRight: from + step, Home: 0, End: last }[event.key];
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const to = Math.max(0, Math.min(last, next));
    setCursor(to);
    announce(valuesAt(to).join(", "));
  };
  return (
    <div class="chart-view">
      <div class="legend" role="group" aria-label="Lines">
        {lines.map((line, index) => (
          <button key={index} type="button" class="legend-line" aria-pressed={shown[index]} onClick={() => setShown(shown.map((one, at) => (at === index ? !one : one)))}>
            <span class={`swatch line-${line.style % STYLES}`} aria-hidden="true" />
            <SafeText text={line.name} />
          </button>
        ))}
      </div>
      <svg
        class="chart"
        ref={place}
        height={HEIGHT}
        tabindex={0}
        role="application"
        aria-roledescription="line chart"
        aria-label={`${label}: ${visible.map(({ name }) => name).join(", ") || "no line"}. ${positions.length} points, ${textOf(0)} to ${textOf(last)}. Arrows read the points. The table has the same values.`}
        onKeyDown={onKeyDown}
        onPointerMove={onPointer}
        onPointerLeave={() => setCursor(null)}
      >
        {axes.map((axis, position) =>
          scales.get(axis)!.ticks.map((tick) => (
            <g key={`${axis} ${tick}`}>
              {position === 0 && <line class="grid" x1={left} x2={width - right} y1={y(tick, axis)} y2={y(tick, axis)} />}
              <text class={position ? "" : "end"} x={position ? width - right + 6 : left - 6} y={y(tick, axis) + 4}>
                {shortNumber(tick)}
              </text>
            </g>
          )),
        )}
        {marks.map((index, at) => (
          <text key={index} class={at === 0 ? "" : at === marks.length - 1 ? "end" : "middle"} x={x(positions[index]!)} y={HEIGHT - 8}>
            {markOf(index)}
          </text>
        ))}
        {visible.map((line) => (
          <g key={line.name} class={`line-${line.style % STYLES}`}>
            <path d={pathOf(line, positions, x, y)} stroke-dasharray={DASHES[Math.floor(line.style / 2) % DASHES.length]} />
            {line.values.map((value, index) => value !== null && (positions.length <= MAX_POINTS || isLone(line.values, index)) && <circle key={index} cx={x(positions[index]!)} cy={y(value, line.axis)} r={2.5} />)}
            {cursor !== null && line.values[cursor] !== null && <circle cx={x(positions[cursor]!)} cy={y(line.values[cursor]!, line.axis)} r={4} />}
          </g>
        ))}
        {cursor !== null &&
          valuesAt(cursor).map((text, at) => (
            <text key={at} class="point" x={left + (at % valuesOfRow) * valueWidth} y={17 + Math.floor(at / valuesOfRow) * ROW}>
              {text}
            </text>
          ))}
        {cursor !== null && <line class="cursor" x1={x(positions[cursor]!)} x2={x(positions[cursor]!)} y1={top} y2={HEIGHT - BOTTOM} />}
      </svg>
    </div>
  );
}

function isLone(values: (number | null)[], index: number): boolean {
  return (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null;
}

function pathOf(line: Line, positions: number[], x: (position: number) => number, y: (value: number, axis: number) => number): string {
  let command = "M";
  let path = "";
  line.values.forEach((value, index) => {
    if (value !== null) path += `${command}${x(positions[index]!).toFixed(1)} ${y(value, line.axis).toFixed(1)}`;
    command = value === null ? "M" : "L";
  });
  return path;
}

/** Return the ends of an axis, and marks on it that are round numbers. */
export function scaleOf(lines: Line[]): { low: number; high: number; ticks: number[] } {
  const values = lines.flatMap((line) => line.values.filter((value) => value !== null));
  let low = values.reduce((least, value) => Math.min(least, value), values[0] ?? 0);
  let high = values.reduce((most, value) => Math.max(most, value), low);
  if (low >= high) [low, high] = [low - (Math.abs(low) || 1) / 10, high + (Math.abs(high) || 1) / 10];
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough)!;
  [low, high] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
  const ticks = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, index) => Number((low + index * step).toPrecision(12)));
  return { low, high, ticks };
}

/** Return the indexes of the points nearest to marks at even distances. */
function marksOf(positions: number[], count: number, nearest: (position: number) => number): number[] {
  const [first, last] = [positions[0]!, positions.at(-1)!];
  return [...new Set(Array.from({ length: count }, (_, index) => nearest(first + ((last - first) * index) / (count - 1))))];
}
