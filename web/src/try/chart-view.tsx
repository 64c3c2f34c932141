// Series as lines. The legend and the keyboard do what the pointer does; the table has the same values.

import "uplot/dist/uPlot.min.css";

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import UPlot from "uplot";

import { Button } from "../components";
import { formatCount } from "../format";
import { theme } from "../theme";
import { numberText } from "./cells";
import { plotOptions } from "./plot";
import { SafeText } from "./safe-text";
import { quoteName } from "./select-model";
import { type Series, timeText } from "./series";

/** Styles of lines; more lines repeat them. */
const STYLES = 8;

export type ChartViewProps = {
  series: Series;
  label: string;
  /** Whether points are left out, as of a preview. */
  isPart: boolean;
  /** Apply a `select`; undefined where nothing can be called. */
  onSelect?: ((select: string) => void) | undefined;
  /** The table that a `select` must name; empty: the only one. */
  table: string;
};

export function ChartView({ series, label, isPart, onSelect, table }: ChartViewProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const swatches = useRef<(HTMLElement | null)[]>([]);
  const [shown, setShown] = useState(() => series.lines.map((line) => line.shown));
  const [cursor, setCursor] = useState<number | null>(null);
  const [said, setSaid] = useState("");
  const mode = useColourMode();
  const data = useMemo(() => [series.seconds, ...series.lines.map((line) => line.values)] as UPlot.AlignedData, [series]);
  const visible = series.lines.flatMap((line, index) => (shown[index] ? [line.name] : []));

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const colours = swatches.current.map((swatch) => (swatch ? getComputedStyle(swatch).color : ""));
    const page = getComputedStyle(element);
    const options = plotOptions(series, shown, colours, { text: page.color, line: page.borderTopColor, font: page.fontFamily }, setCursor);
    const made = new UPlot({ ...options, width: element.clientWidth, height: element.clientHeight }, data, element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [series, mode, shown]);

  const last = series.seconds.length - 1;
  const moveTo = (index: number) => {
    const made = plot.current;
    if (!made) return;
    const at = Math.max(0, Math.min(last, index));
    made.setCursor({ left: made.valToPos(series.seconds[at]!, "x"), top: made.over.clientHeight / 2 });
    setCursor(at);
    setSaid(`${timeText(series, at)}: ${series.lines.flatMap((line, line_) => (shown[line_] ? [`${line.name} ${line.values[at] === null ? "no value" : numberText(line.values[at]!)}`] : [])).join(", ")}`);
  };
  const zoom = (factor: number) => {
    const made = plot.current;
    if (!made) return;
    const { min, max } = made.scales["x"]!;
    const middle = cursor === null ? (min! + max!) / 2 : series.seconds[cursor]!;
    const half = Math.max(((max! - min!) * factor) / 2, 1);
    made.setScale("x", { min: Math.max(series.seconds[0]!, middle - half), max: Math.min(series.seconds[last]!, middle + half) });
  };
  const reset = () => plot.current?.setScale("x", { min: series.seconds[0]!, max: series.seconds[last]! });
  const onKeyDown = (event: KeyboardEvent) => {
    const from = cursor ?? last;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => moveTo(from - (event.shiftKey ? 10 : 1)),
      ArrowRight: () => moveTo(from + (event.shiftKey ? 10 : 1)),
      Home: () => moveTo(0),
      End: () => moveTo(last),
      "+": () => zoom(0.5),
      "-": () => zoom(2),
      Escape: reset,
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  };
  return (
    <div class="chart-view">
      {isPart && (
        <p class="button-row">
          <span class="hint">The answer is a preview: a part of the points is missing.</span>
          {onSelect && coarser(series, table) && (
            <Button class="quiet" onClick={() => onSelect(coarser(series, table))}>
              All of it, {coarser(series, table)}
            </Button>
          )}
        </p>
      )}
      <div class="legend" role="group" aria-label="Lines">
        {series.lines.map((line, index) => (
          <button key={index} type="button" class="legend-line" aria-pressed={shown[index]} onClick={() => setShown(shown.map((one, at) => (at === index ? !one : one)))}>
            <span class={`swatch line-${line.style % STYLES}`} ref={(element) => void (swatches.current[index] = element)} aria-hidden="true" />
            <SafeText text={line.name} />
            {cursor !== null && shown[index] && <span class="legend-value">{line.values[cursor] === null ? "–" : numberText(line.values[cursor]!)}</span>}
          </button>
        ))}
      </div>
      <div class="chart-bar">
        <span>{cursor === null ? `${series.time}${series.zone ? `, ${series.zone}` : ""}` : timeText(series, cursor)}</span>
        <span class="chart-buttons">
          <Button class="quiet" onClick={() => zoom(0.5)} label="Zoom in">
            +
          </Button>
          <Button class="quiet" onClick={() => zoom(2)} label="Zoom out">
            −
          </Button>
          <Button class="quiet" onClick={reset}>All</Button>
        </span>
      </div>
      <div
        class="chart"
        ref={place}
        tabIndex={0}
        role="application"
        aria-roledescription="line chart"
        aria-label={`${label}: ${visible.join(", ") || "no line"}. ${formatCount(series.seconds.length, "point")}, ${timeText(series, 0)} to ${timeText(series, last)}. Arrows read the points, plus and minus zoom. The table has the same values.`}
        onKeyDown={onKeyDown}
      />
      <p class="visually-hidden" role="status">
        {said}
      </p>
      <p class="hint">Drag to zoom, double-click for all. With the keyboard: arrows, Shift and arrows, Home, End, +, −, Esc.</p>
    </div>
  );
}

/** Return the `select` of the whole series with fewer points; empty where there is none. */
function coarser({ precision, lines }: Series, table: string): string {
  const unit = { time: "day", day: "month", month: "year", quarter: "year", year: "" }[precision];
  const names = lines.filter((line) => line.shown).map(({ name }) => name);
  if (!unit || !names.length) return "";
  return `${table ? `from ${quoteName(table)}; ` : ""}${names.map((name) => `last(${quoteName(name)})`).join(", ")} by ${unit}`;
}

/** Follow the theme: its choice, or that of the system. */
function useColourMode(): string {
  const [isDark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const read = () => setDark(query.matches);
    query.addEventListener("change", read);
    return () => query.removeEventListener("change", read);
  }, []);
  return `${theme.value} ${isDark}`;
}
