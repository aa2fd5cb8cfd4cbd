/** Plots without a library: few shapes, readable in light and dark. */

const colours = {
  reference: '#8b949e',
  function: '#2da44e',
  peer: '#bf8700',
  lever: '#0969da',
  'not kept': '#8250df',
};
export type Colour = keyof typeof colours;

const ink = '#6e7781';
const warning = '#cf222e';

/** About what a note takes. */
const noteWidth = 90;

export interface Bar {
  readonly label: string;
  readonly value: number;
  readonly note: string;
  readonly colour: Colour;
}

/** Horizontal bars, with a line that they should stay left of. */
export function bars(
  title: string,
  all: readonly Bar[],
  limit: { readonly value: number; readonly label: string },
): string {
  const [left, width, row, top] = [330, 420, 24, 56];
  const most = Math.max(limit.value, ...all.map(({ value }) => value));
  const x = (value: number): number => left + (value / most) * width;
  // A note that the line would run through begins behind it.
  const noteAt = (end: number): number => {
    const isInTheWay = end < x(limit.value) && x(limit.value) < end + noteWidth;
    return (isInTheWay ? x(limit.value) : end) + 6;
  };
  const rows = all.map(({ label, value, note, colour }, index) => {
    const y = top + index * row;
    return [
      text(left - 8, y + 14, label, 'end'),
      `<rect x="${left}" y="${y + 2}" width="${fixed(x(value) - left)}" height="16" rx="2" fill="${colours[colour]}"/>`,
      text(noteAt(x(value)), y + 14, note),
    ].join('');
  });
  const bottom = top + all.length * row;
  const line =
    `<line x1="${fixed(x(limit.value))}" x2="${fixed(x(limit.value))}" y1="${top - 6}" y2="${bottom}" stroke="${warning}" stroke-dasharray="4 3"/>` +
    text(x(limit.value), top - 12, limit.label, 'middle', warning);
  return svg(left + width + 150, bottom + 16, title, [...rows, line].join('\n'));
}

export interface Series {
  readonly label: string;
  readonly colour: Colour;
  /** x, which is drawn on a logarithmic axis, and y. */
  readonly points: readonly (readonly [number, number])[];
}

/** Lines over a logarithmic axis. */
export function lines(
  title: string,
  series: readonly Series[],
  axes: { readonly x: string; readonly y: string },
): string {
  const [left, top, width, height] = [64, 56, 560, 240];
  const xs = [...new Set(series.flatMap(({ points }) => points.map(([x]) => x)))].toSorted((a, b) => a - b);
  const most = Math.max(...series.flatMap(({ points }) => points.map(([, y]) => y)));
  const [first, last] = [Math.log(xs[0]!), Math.log(xs.at(-1)!)];
  const px = (x: number): number => left + ((Math.log(x) - first) / (last - first || 1)) * width;
  const py = (y: number): number => top + height - (y / most) * height;
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const y = fixed(py(most * share));
    const label = text(left - 8, Number(y) + 4, (most * share).toPrecision(3).replace(/\.0+$/, ''), 'end');
    return `<line x1="${left}" x2="${left + width}" y1="${y}" y2="${y}" stroke="${ink}" stroke-opacity="0.25"/>${label}`;
  });
  const ticks = xs.map((x) => text(px(x), top + height + 18, String(x), 'middle'));
  const drawn = series.map(({ label, colour, points }, index) => {
    const path = points.map(([x, y]) => `${fixed(px(x))},${fixed(py(y))}`).join(' ');
    const legend = text(left + width + 16, top + 12 + index * 20, label, 'start', colours[colour]);
    return `<polyline points="${path}" fill="none" stroke="${colours[colour]}" stroke-width="2"/>${legend}`;
  });
  const names =
    text(left + width / 2, top + height + 38, axes.x, 'middle') + text(left - 8, top - 10, axes.y, 'start');
  return svg(left + width + 160, top + height + 52, title, [...grid, ...ticks, ...drawn, names].join('\n'));
}

function svg(width: number, height: number, title: string, content: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img">
<title>${escape(title)}</title>
${text(16, 24, title, 'start', ink, 15)}
${content}
</svg>
`;
}

function text(x: number, y: number, content: string, anchor = 'start', colour = ink, size = 12): string {
  return `<text x="${fixed(x)}" y="${fixed(y)}" text-anchor="${anchor}" fill="${colour}" font-size="${size}">${escape(content)}</text>`;
}

function fixed(value: number): string {
  return value.toFixed(1);
}

function escape(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
