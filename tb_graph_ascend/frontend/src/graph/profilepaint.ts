/* Draws the whole pair as an icicle: passes, layers, what is in them, calls; red by the worst inside. */

import type { Profile } from "../api/types";
import type { DiffPalette } from "./scene";
import { OVERFLOW_SCORE, type Recolour } from "./appearance";
import { inkOn, rampColor } from "./ramp";
import { shorten } from "./textwidth";

export interface ProfileScene {
  profile: Profile;
  width: number;
  height: number;
  ratio: number;
  palette: DiffPalette;
  recolour: Recolour;
  /** What the passes are called. */
  phase: (name: string) => string;
}

const LABELS = 14;
/** A lower strip bears no labels. */
const LABELLED = 30;
/** Room for a name in a block. */
const NAMED = 26;

/** Paint the icicle: passes, layers, what is in them; a low strip has bars alone. */
export function paintProfile(context: CanvasRenderingContext2D, scene: ProfileScene): void {
  const { profile, width, height, ratio, palette } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const bins = profile.worst.length;
  if (bins === 0) return;
  const labels = height < LABELLED ? 0 : LABELS;
  const room = height - labels;
  const lanes = labels > 0 && profile.blocks.length > 1 ? 2 : 0;
  const lane = lanes > 0 ? Math.floor(room / 3) : 0;
  profile.blocks.forEach((block) => lanes > 0 && paintBlock(context, scene, block, labels + block.lane * lane, lane));
  paintBars(context, scene, labels + lanes * lane, room - lanes * lane);
  context.fillStyle = palette.muted;
  for (const bin of profile.alone) context.fillRect(xOf(bin, bins, width), height - 3, Math.max(1.5, width / bins), 3);
  paintPhases(context, scene);
  for (const bin of profile.causes) paintCause(context, palette, xOf(bin + 0.5, bins, width), height);
}

/** The calls themselves: one colour a bin. */
function paintBars(context: CanvasRenderingContext2D, scene: ProfileScene, top: number, tall: number): void {
  const { profile, width, palette } = scene;
  const bins = profile.worst.length;
  context.fillStyle = palette.raised;
  context.fillRect(0, top, width, tall);
  profile.worst.forEach((worst, bin) => {
    if (worst === null || worst < 0.005) return;
    const [x, next] = [xOf(bin, bins, width), xOf(bin + 1, bins, width)];
    context.fillStyle = rampColor(worst, palette.theme);
    const high = Math.max(2, worst * tall);
    context.fillRect(x, top + tall - high, Math.max(1, next - x), high);
  });
}

function paintBlock(
  context: CanvasRenderingContext2D,
  { profile, width, palette, recolour }: ProfileScene,
  block: Profile["blocks"][number],
  top: number,
  tall: number,
): void {
  const x = xOf(block.row, profile.rows, width);
  const wide = xOf(block.until, profile.rows, width) - x;
  const level = block.overflow === null ? null : OVERFLOW_SCORE[block.overflow];
  const heat = recolour === "overflow" ? level : block.worst;
  const filled = heat !== null && heat >= 0.005;
  context.fillStyle = filled ? rampColor(heat, palette.theme) : palette.raised;
  context.fillRect(x, top, Math.max(1, wide - 1), tall - 1);
  if (wide < NAMED) return;
  const font = `10.5px ${palette.font}`;
  context.font = font;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillStyle = filled ? inkOn(heat, palette.theme) : palette.muted;
  context.fillText(shorten(context, font, block.title, wide - 6), x + 3, top + tall / 2);
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

function paintPhases(context: CanvasRenderingContext2D, scene: ProfileScene): void {
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
    context.fillText(text, x + 4, LABELS / 2);
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
