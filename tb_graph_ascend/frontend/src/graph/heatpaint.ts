/* Paints the heat map of trends: one byte a cell becomes one colour, through an ImageData that is
 * as large as the data and scaled by the canvas, so that a frame costs the same at any size. */

/** A cell in which nothing was measured, and one whose value is not finite. */
export const ABSENT = 0;
export const BROKEN = 255;

/** Octaves at both ends of the scale of one run. */
export const RANGE = 4;
/** log2 of octaves apart at both ends of the scale of two runs. */
export const LEAST = -24;
export const MOST = 2;

const FIRST = 1;
const LAST = 254;

export type Rgb = readonly [number, number, number];

export interface HeatColours {
  /** Far below, as usual, far above; not measured; not finite. */
  low: Rgb;
  middle: Rgb;
  high: Rgb;
  absent: Rgb;
  broken: Rgb;
}

/** The palette of all bytes as packed pixels; two runs use only the upper half of the ramp. */
export function paletteOf(colours: HeatColours, two: boolean): Uint32Array {
  const palette = new Uint32Array(256);
  for (let byte = FIRST; byte <= LAST; byte += 1) {
    const share = (byte - FIRST) / (LAST - FIRST);
    const signed = two ? share : share * 2 - 1;
    const end = signed < 0 ? colours.low : colours.high;
    palette[byte] = packed(mixed(colours.middle, end, Math.abs(signed)));
  }
  palette[ABSENT] = packed(colours.absent);
  palette[BROKEN] = packed(colours.broken);
  return palette;
}

/** The pixels of cells [row][column], each row as many pixels high as it is on screen. */
export function pixelsOf(cells: Uint8Array, palette: Uint32Array): Uint32Array {
  const pixels = new Uint32Array(cells.length);
  for (let i = 0; i < cells.length; i += 1) pixels[i] = palette[cells[i] ?? 0] ?? 0;
  return pixels;
}

/** What a byte says: octaves from the usual value, or log2 of octaves apart; null for no number. */
export function valueOf(byte: number, two: boolean): number | null {
  if (byte === ABSENT || byte === BROKEN) return null;
  const share = (byte - FIRST) / (LAST - FIRST);
  return two ? LEAST + share * (MOST - LEAST) : (share * 2 - 1) * RANGE;
}

/** How a number is said: the ends of the scale hold all that lies beyond them. */
export function wordOf(value: number, two: boolean): "usual" | "usualOrLess" | "usualOrMore" | "apartAbout" | "apartOrMore" {
  if (two) return value >= MOST ? "apartOrMore" : "apartAbout";
  if (value >= RANGE) return "usualOrMore";
  return value <= -RANGE ? "usualOrLess" : "usual";
}

/** A number of the scale as a factor, with as many digits as bytes tell apart: two. */
export function factorOf(value: number): string {
  return String(Number((2 ** value).toPrecision(2)));
}

/** Bytes of a base64 text. */
export function bytesOf(text: string): Uint8Array {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** The column of a step: the last that begins at or before it; -1 in front of the first. */
export function columnOf(steps: readonly number[], step: number): number {
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle] ?? 0) <= step) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function mixed(from: Rgb, to: Rgb, share: number): Rgb {
  const at = (i: 0 | 1 | 2): number => Math.round(from[i] + (to[i] - from[i]) * share);
  return [at(0), at(1), at(2)];
}

function packed([red, green, blue]: Rgb): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
