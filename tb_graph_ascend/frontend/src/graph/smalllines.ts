/* Small lines beside each other: the range that each is drawn over, its path, and what a place means. */

export type Values = readonly (number | null)[];

export interface Range {
  low: number;
  high: number;
  /** Whether heights are logarithms: only where nothing drawn is 0 or negative. */
  log: boolean;
}

/** The least and largest of some lines; null where there is no number at all. */
export function rangeOf(lines: readonly Values[]): Range | null {
  let low = Infinity;
  let high = -Infinity;
  for (const line of lines) {
    for (const value of line) {
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return low > high ? null : { low, high, log: low > 0 };
}

/** How high a value stands, 0 to 1; in the middle where all are the same. */
export function heightOf(value: number, { low, high, log }: Range): number {
  if (low === high) return 0.5;
  return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

/** An SVG path over the unit square, y downwards; a step without a number interrupts it. A value
 * between two gaps is drawn as a line of no length, which round caps make a dot. */
export function pathOf(values: Values, range: Range): string {
  const parts: string[] = [];
  const right = Math.max(1, values.length - 1);
  let drawing = false;
  values.forEach((value, index) => {
    if (value === null) {
      drawing = false;
      return;
    }
    const at = `${short(index / right)} ${short(1 - heightOf(value, range))}`;
    const alone = !drawing && (values[index + 1] ?? null) === null;
    parts.push(`${drawing ? "L" : "M"}${at}${alone ? `L${at}` : ""}`);
    drawing = true;
  });
  return parts.join("");
}

/** The column under a place from 0 to 1 of a line with so many columns. */
export function columnAt(share: number, columns: number): number {
  return Math.min(columns - 1, Math.max(0, Math.round(share * (columns - 1))));
}

/** Where a key leads in a grid with so many columns and places; null when it is none of a grid's. */
export function moved(key: string, from: number, columns: number, total: number): number | null {
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[key];
  if (key === "Home") return 0;
  if (key === "End") return total - 1;
  if (by === undefined) return null;
  const to = from + by;
  return to < 0 || to >= total ? from : to;
}

function short(share: number): string {
  return String(Math.round(share * 1000) / 1000);
}
