// A plot over time.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface Series {
  name: string;
  /** The name of a colour of the style sheet, without its dashes. */
  colour: string;
  values: (number | null)[];
  /** How high it is drawn, where that is not its value: on top of another. */
  heights?: (number | null)[];
  /** Drawn as bars. */
  bars?: boolean;
}

interface Props {
  label: string;
  /** Epoch milliseconds. */
  times: number[];
  series: Series[];
  show: (value: number) => string;
}

const HEIGHT = 190;

export function Chart({ label, times, series, show }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const showing = useRef(show);
  showing.current = show;
  const given = useRef(series);
  given.current = series;
  const names = series.map((each) => each.name).join();
  const data = [times.map((time) => time / 1_000), ...series.map((each) => each.heights ?? each.values)] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const box = place.current;
    if (box === null) return;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(options(box, series, () => given.current, (value) => showing.current(value)), latest.current, box);
    };
    draw();
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: box.clientWidth, height: HEIGHT }));
    resize.observe(box);
    dark.addEventListener("change", draw);
    return () => {
      resize.disconnect();
      dark.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [names]);

  useEffect(() => plot.current?.setData(latest.current), [times, series]);

  const last = (each: Series): string => {
    const value = each.values.findLast((one) => one !== null);
    return value === null || value === undefined ? "–" : show(value);
  };
  return (
    <figure class="chart">
      <figcaption>
        <span>{label}</span>
        <span class="legend">
          {series.map((each) => (
            <span key={each.name}>
              <i class={`swatch ${each.colour}`} aria-hidden="true" />
              {each.name} <b>{last(each)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} class="plot" role="img" aria-label={`${label}: ${series.map((each) => `${each.name} ${last(each)} in the last minute`).join(", ")}`} />
    </figure>
  );
}

function options(box: HTMLElement, series: Series[], latest: () => Series[], show: (value: number) => string): uPlot.Options {
  const style = getComputedStyle(box);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const font = `11px ${style.fontFamily}`;
  const axis = { stroke: colour("muted"), font, ticks: { show: false }, gap: 6 };
  const grid = { stroke: colour("line"), width: 1 };
  return {
    width: box.clientWidth,
    height: HEIGHT,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    scales: { y: { range: (_, __, top) => [0, Math.max(1, top * 1.1)] } },
    axes: [
      { ...axis, grid: { show: false }, values: (_, at) => at.map(minuteText), space: 64, size: 28 },
      { ...axis, grid, size: 56, values: (_, at) => at.map(show), space: 36 },
    ],
    series: [
      {},
      ...series.map((each) => ({
        spanGaps: false,
        label: each.name,
        stroke: colour(each.colour),
        fill: `${colour(each.colour)}${each.bars ? "" : "1f"}`,
        width: each.bars ? 0 : 2,
        ...(each.bars ? { points: { show: false } } : {}),
        ...(each.bars ? { paths: uPlot.paths.bars!({ size: [0.8, 24] }) } : {}),
      })),
    ],
    hooks: { setCursor: [(plot) => told(plot, latest(), show)] },
  };
}

/** What the cursor points at, in the corner of the plot. */
function told(plot: uPlot, series: Series[], show: (value: number) => string): void {
  const index = plot.cursor.idx;
  let tip = plot.over.querySelector<HTMLElement>(".tip");
  if (index === null || index === undefined) {
    tip?.remove();
    return;
  }
  if (tip === null) {
    tip = document.createElement("div");
    tip.className = "tip";
    plot.over.append(tip);
  }
  const at = plot.data[0][index] ?? 0;
  const values = series.map((each) => {
    const value = each.values[index];
    return `${each.name} ${value === null || value === undefined ? "–" : show(value)}`;
  });
  tip.textContent = [minuteText(at), ...values].join("  ·  ");
}

function minuteText(seconds: number): string {
  const date = new Date(seconds * 1_000);
  return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
}
