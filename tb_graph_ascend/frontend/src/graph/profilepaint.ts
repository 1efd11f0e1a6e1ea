/* Draws the strip over the whole pair: height is the worst score in a place, quiet where all agree. */

import type { Profile } from "../api/types";
import type { DiffPalette } from "./scene";
import { rampColor } from "./ramp";

export interface ProfileScene {
  profile: Profile;
  width: number;
  height: number;
  ratio: number;
  palette: DiffPalette;
  /** What the passes are called. */
  phase: (name: string) => string;
}

const LABELS = 14;
/** A lower strip bears no labels. */
const LABELLED = 30;

/** Paint bars, the places where something begins, and where passes begin. */
export function paintProfile(context: CanvasRenderingContext2D, scene: ProfileScene): void {
  const { profile, width, height, ratio, palette } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const bins = profile.worst.length;
  const bars = height < LABELLED ? height : height - LABELS;
  if (bins === 0) return;
  context.fillStyle = palette.line;
  context.fillRect(0, bars - 1, width, 1);
  profile.worst.forEach((worst, bin) => {
    const [x, next] = [xOf(bin, bins, width), xOf(bin + 1, bins, width)];
    if (worst === null || worst < 0.005) return;
    const tall = Math.max(2, worst * (bars - 3));
    // Paler than the ramp, so that the marks of where it begins stand out.
    context.fillStyle = rampColor(0.25 + 0.35 * worst);
    context.fillRect(x, bars - tall, Math.max(1, next - x - (bins < width / 3 ? 1 : 0)), tall);
  });
  context.fillStyle = palette.muted;
  for (const bin of profile.alone) context.fillRect(xOf(bin, bins, width), bars - 3, Math.max(1.5, width / bins), 3);
  paintPhases(context, scene, bars);
  for (const bin of profile.causes) paintCause(context, palette, xOf(bin + 0.5, bins, width), bars);
}

function paintCause(context: CanvasRenderingContext2D, palette: DiffPalette, x: number, bars: number): void {
  context.fillStyle = palette.bad;
  context.fillRect(x - 1, 0, 2, bars);
  context.beginPath();
  context.moveTo(x - 5, 0);
  context.lineTo(x + 5, 0);
  context.lineTo(x, 7);
  context.fill();
}

function paintPhases(context: CanvasRenderingContext2D, scene: ProfileScene, bars: number): void {
  const { profile, width, height, palette, phase } = scene;
  const bins = profile.worst.length;
  context.font = `10.5px ${palette.font}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  profile.phases.forEach(({ name, bin }, index) => {
    const end = xOf(profile.phases[index + 1]?.bin ?? bins, bins, width);
    const x = xOf(bin, bins, width);
    context.fillStyle = palette.line;
    if (bin > 0) context.fillRect(x, 0, 1, height);
    if (height < LABELLED) return;
    const text = phase(name);
    // A label that does not fit would seem to be that of the next pass.
    if (x + 4 + context.measureText(text).width > end) return;
    context.fillStyle = palette.muted;
    context.fillText(text, x + 4, bars + LABELS / 2 + 0.5);
  });
}

function xOf(bin: number, bins: number, width: number): number {
  return (bin / bins) * width;
}

/** The share of the strip at which a row of the list begins, by the rows before each bin. */
export function shareOfRow(row: number, bins: readonly number[]): number {
  const last = bins.length - 1;
  if (last <= 0) return 0;
  let low = 0;
  let high = last;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((bins[middle] ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  const [from = 0, to = from] = [bins[low], bins[low + 1]];
  const within = to > from ? (row - from) / (to - from) : 0;
  return Math.min(1, (low + within) / last);
}

/** The row of the list at a share of the strip. */
export function rowOfShare(share: number, bins: readonly number[]): number {
  const last = bins.length - 1;
  if (last <= 0) return 0;
  const at = Math.min(last, Math.max(0, share * last));
  const bin = Math.min(last - 1, Math.floor(at));
  const [from = 0, to = from] = [bins[bin], bins[bin + 1]];
  return from + (to - from) * (at - bin);
}
