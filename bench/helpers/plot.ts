/** @module Lines over two logarithmic scales, as an SVG. */

export interface Series {
  readonly label: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface PlotOptions {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
}

interface Scale {
  readonly ticks: readonly number[];
  at(value: number): number;
}

const [WIDTH, HEIGHT] = [760, 420];
const AREA = { left: 80, right: 580, top: 50, bottom: 350 };
/** Told apart also by those who do not see colours as most do. */
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"];
const LINE_HEIGHT = 16;

export function plot(series: readonly Series[], { title, xLabel, yLabel }: PlotOptions): string {
  const points = series.flatMap((each) => each.points);
  const x = scaleOf(
    points.map((point) => point.x),
    [AREA.left, AREA.right],
  );
  const y = scaleOf(
    points.map((point) => point.y),
    [AREA.bottom, AREA.top],
  );
  const middle = { x: (AREA.left + AREA.right) / 2, y: (AREA.top + AREA.bottom) / 2 };
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="13">`,
    `<title>${title}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(title, { x: middle.x, y: 26, anchor: "middle", extra: ' font-weight="bold"' }),
    ...x.ticks.flatMap((tick) => [
      line([x.at(tick), AREA.top], [x.at(tick), AREA.bottom]),
      text(inWords(tick), { x: x.at(tick), y: AREA.bottom + 20, anchor: "middle" }),
    ]),
    ...y.ticks.flatMap((tick) => [
      line([AREA.left, y.at(tick)], [AREA.right, y.at(tick)]),
      text(inWords(tick), { x: AREA.left - 8, y: y.at(tick) + 4, anchor: "end" }),
    ]),
    text(xLabel, { x: middle.x, y: AREA.bottom + 46, anchor: "middle" }),
    text(yLabel, { x: 24, y: middle.y, anchor: "middle", extra: ` transform="rotate(-90 24 ${middle.y})"` }),
    ...series.map((each, index) => curve(each, { x, y, colour: colourOf(index) })),
    ...labels(series, y),
    "</svg>\n",
  ].join("\n");
}

/** Whole powers of ten around all values. */
function scaleOf(values: readonly number[], [from, to]: readonly [number, number]): Scale {
  const low = Math.floor(Math.log10(Math.min(...values)) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9));
  return {
    ticks: Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index)),
    at: (value) => round(from + ((Math.log10(value) - low) / (high - low)) * (to - from)),
  };
}

function curve({ points }: Series, { x, y, colour }: { x: Scale; y: Scale; colour: string }): string {
  const places = points.map((point) => [x.at(point.x), y.at(point.y)] as const);
  const dots = places.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3.5" fill="${colour}"/>`);
  return [`<polyline points="${places.join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`, ...dots].join("\n");
}

/** Beside the ends of their lines, and never on top of each other. */
function labels(series: readonly Series[], y: Scale): string[] {
  const ends = series.map(({ label, points }, index) => ({ label, index, at: y.at(points.at(-1)?.y ?? 1) + 4 }));
  let free = 0;
  return ends
    .toSorted((a, b) => a.at - b.at)
    .map(({ label, index, at }) => {
      const place = Math.max(at, free);
      free = place + LINE_HEIGHT;
      return text(label, { x: AREA.right + 12, y: place, anchor: "start", extra: ` fill="${colourOf(index)}"` });
    });
}

function colourOf(index: number): string {
  return COLOURS[index % COLOURS.length] ?? "#000";
}

function line([x1, y1]: readonly [number, number], [x2, y2]: readonly [number, number]): string {
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="#ddd"/>`;
}

function text(content: string, { x, y, anchor, extra = "" }: { x: number; y: number; anchor: string; extra?: string }): string {
  const safe = content.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text x="${x}" y="${y}" text-anchor="${anchor}"${extra}>${safe}</text>`;
}

function inWords(value: number): string {
  return value >= 1 ? value.toLocaleString("en") : String(Number(value.toPrecision(1)));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
