/* Draws the whole pair as an icicle: passes, layers, what is in them, calls; red by the worst inside. */

import type { Profile } from "../api/types";
import type { DiffPalette } from "./scene";
import { OVERFLOW_SCORE, type Recolour } from "./appearance";
import { inkOn, rampColor } from "./ramp";
import { measure } from "./textwidth";
import { SHOWN } from "./words";

export interface ProfileScene {
  profile: Profile;
  width: number;
  height: number;
  ratio: number;
  palette: DiffPalette;
  recolour: Recolour;
  /** What the passes are called. */
  phase: (name: string) => string;
  /** The part of the strip that fills it. */
  span: Span;
}

/** From and to which share of the whole strip is shown. */
export interface Span {
  from: number;
  to: number;
}

export const WHOLE: Span = { from: 0, to: 1 };

const LABELS = 14;
/** A lower strip bears no labels. */
const LABELLED = 30;
/** Pixels of fill that are seen. */
const LEAST_FILL = 3;
/** Of the height: from here on a name stands on the fill. */
const COVERED = 0.7;
/** The middle of a name that stands as high in its block as it can. */
const LEAST_MIDDLE = 6;
/** A flag and what is left free beside it. */
const FLAG = 7;
/** Room for a name in a block. */
const NAMED = 26;

/** Paint the icicle: passes, layers, what is in them; a low strip has bars alone. */
export function paintProfile(context: CanvasRenderingContext2D, scene: ProfileScene): void {
  const { profile, width, height, ratio, palette } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const bins = profile.worst.length;
  if (bins === 0) return;
  const { labels, lanes, lane } = lanesOf(profile, height);
  const blocks = lanes > 0 ? profile.blocks.flatMap((block) => placed(scene, block, labels + block.lane * lane, lane)) : [];
  for (const block of blocks) paintBlock(context, scene, block);
  const top = labels + lanes * lane;
  if (profile.norms.length > 0) paintNorms(context, scene, top, height - top);
  else paintBars(context, scene, top, height - top);
  context.fillStyle = palette.muted;
  for (const bin of profile.alone) context.fillRect(xOf(scene, bin / bins), height - 3, Math.max(1.5, width / bins), 3);
  const causes = profile.causes.map((bin) => xOf(scene, (bin + 0.5) / bins));
  context.fillStyle = palette.heals;
  for (const bin of profile.heals) context.fillRect(xOf(scene, (bin + 0.5) / bins) - 0.5, 0, 1, height);
  context.fillStyle = palette.bad;
  for (const x of causes) context.fillRect(x - 1, 0, 2, height);
  for (const x of causes) paintFlag(context, palette, x);
  paintPhases(context, scene, causes);
  // Names stand over bars and poles: nothing strikes them through. What a pass is called stands above it already.
  const passes = new Set<string>(profile.phases.map(({ name }) => name));
  const named = blocks.filter(({ title, wide }) => !passes.has(title) && wide >= NAMED);
  const font = `10.5px ${palette.font}`;
  context.font = font;
  const names = namesOf(named.map(({ title, wide }) => ({ title, room: wide - 6 })), (text) => measure(context, font, text));
  named.forEach((block, index) => paintName(context, scene, block, names[index] ?? null));
}

/** Where the lanes of modules stand below the names of passes; a low strip has none. */
function lanesOf(profile: Profile, height: number): { labels: number; lanes: number; lane: number } {
  const labels = height < LABELLED ? 0 : LABELS;
  const lanes = labels > 0 && profile.blocks.length > 1 ? 2 : 0;
  return { labels, lanes, lane: lanes > 0 ? Math.floor((height - labels) / 3) : 0 };
}

/** The block at a share of the strip and a height in it, and the part of the strip that it is. */
export function blockAt(profile: Profile, height: number, share: number, y: number): Span | null {
  const { labels, lanes, lane } = lanesOf(profile, height);
  const at = Math.floor((y - labels) / Math.max(1, lane));
  if (lanes === 0 || y < labels || at >= lanes) return null;
  const row = share * profile.rows;
  const block = profile.blocks.find((one) => one.lane === at && one.row <= row && row < one.until);
  return block ? { from: block.row / profile.rows, to: block.until / profile.rows } : null;
}

/** The calls themselves: one colour a bin. */
function paintBars(context: CanvasRenderingContext2D, scene: ProfileScene, top: number, tall: number): void {
  const { profile, width, palette } = scene;
  const bins = profile.worst.length;
  context.fillStyle = palette.raised;
  context.fillRect(0, top, width, tall);
  profile.worst.forEach((worst, bin) => {
    if (worst === null || worst < SHOWN) return;
    const [x, next] = [xOf(scene, bin / bins), xOf(scene, (bin + 1) / bins)];
    context.fillStyle = rampColor(worst, palette.theme);
    const high = Math.max(2, worst * tall);
    context.fillRect(x, top + tall - high, Math.max(1, next - x), high);
  });
}

/** Norms of a single graph, their logarithms from the smallest to the largest; red what is no number. */
function paintNorms(context: CanvasRenderingContext2D, scene: ProfileScene, top: number, tall: number): void {
  const { profile, width, palette } = scene;
  const bins = profile.norms.length;
  context.fillStyle = palette.raised;
  context.fillRect(0, top, width, tall);
  const range = normRange(profile.norms);
  profile.norms.forEach((norm, bin) => {
    if (norm === null) return;
    const [x, next] = [xOf(scene, bin / bins), xOf(scene, (bin + 1) / bins)];
    const finite = typeof norm === "number";
    context.fillStyle = finite ? palette.accent : palette.bad;
    const high = Math.max(2, tall * (finite ? heightOf(norm, range) : 1));
    context.fillRect(x, top + tall - high, Math.max(1, next - x - 0.5), high);
  });
}

/** The smallest and largest norm above zero; null where there is none. */
export function normRange(norms: Profile["norms"]): [number, number] | null {
  const known = norms.filter((norm) => typeof norm === "number").filter((norm) => norm > 0);
  return known.length === 0 ? null : [Math.min(...known), Math.max(...known)];
}

/** A share of the height: a tenth for the smallest, all for the largest. */
function heightOf(norm: number, range: [number, number] | null): number {
  if (range === null || norm <= 0) return 0;
  const [least, most] = range.map(Math.log10) as [number, number];
  return most === least ? 1 : 0.1 + (0.9 * (Math.log10(norm) - least)) / (most - least);
}

interface PlacedBlock {
  title: string;
  x: number;
  wide: number;
  top: number;
  tall: number;
  /** Null where nothing is filled. */
  heat: number | null;
  /** Pixels from the bottom. */
  fill: number;
}

/** Where a block stands in its lane and how it is filled; nothing where it is out of sight. */
function placed(scene: ProfileScene, block: Profile["blocks"][number], top: number, tall: number): PlacedBlock[] {
  const { profile, width, recolour } = scene;
  const x = Math.max(0, xOf(scene, block.row / profile.rows));
  const wide = Math.min(width, xOf(scene, block.until / profile.rows)) - x;
  if (wide <= 0) return [];
  const level = block.overflow === null ? null : OVERFLOW_SCORE[block.overflow];
  const heat = recolour === "overflow" ? level : block.worst;
  const filled = heat !== null && heat >= SHOWN;
  const fill = filled ? filledHeight(recolour === "overflow" ? 1 : block.share, tall - 1) : 0;
  return [{ title: block.title, x, wide, top, tall, heat: filled ? heat : null, fill }];
}

function paintBlock(context: CanvasRenderingContext2D, { palette }: ProfileScene, block: PlacedBlock): void {
  const { x, wide, top, tall, heat, fill } = block;
  const high = tall - 1;
  const broad = Math.max(1, wide - 1);
  context.fillStyle = palette.raised;
  context.fillRect(x, top, broad, high);
  context.fillStyle = heat === null ? palette.raised : rampColor(heat, palette.theme);
  context.fillRect(x, top + high - fill, broad, fill);
}

/** The name of a block: over the fill where that has room for it, else above it, as far as that is empty. */
function paintName(context: CanvasRenderingContext2D, { palette }: ProfileScene, block: PlacedBlock, title: string | null): void {
  if (title === null) return;
  const { x, top, tall, heat, fill } = block;
  const high = tall - 1;
  context.textAlign = "left";
  context.textBaseline = "middle";
  const covered = heat !== null && fill > high * COVERED;
  const middle = covered ? top + tall / 2 : top + Math.min(tall / 2, Math.max(LEAST_MIDDLE, (high - fill) / 2));
  // Whatever reaches a name, it keeps the ground that it is read on.
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = covered ? rampColor(heat, palette.theme) : palette.raised;
  context.strokeText(title, x + 3, middle);
  context.fillStyle = heat === null ? palette.muted : covered ? inkOn(heat, palette.theme) : palette.ink;
  context.fillText(title, x + 3, middle);
}

/** What a block is called, and how wide a name may be in it. */
interface Named {
  title: string;
  room: number;
}

/** The names of blocks as far as they fit. Those of one list (`down.0`, `down.1`), and those of one title, are
 * shortened alike, so that neighbours read as what they are: the beginning stays, and the number. A block that
 * is much narrower than the others of its kind, as one at the edge is, has no name sooner than it shortens theirs. */
export function namesOf(blocks: readonly Named[], wide: (text: string) => number): (string | null)[] {
  const groups = new Map<string, Named[]>();
  for (const block of blocks) groups.set(listOf(block.title), [...(groups.get(listOf(block.title)) ?? []), block]);
  const kept = new Map([...groups].map(([list, group]) => [list, keptOf(list, group, wide)]));
  return blocks.map(({ title, room }) => {
    const name = keptName(title, kept.get(listOf(title)) ?? 0);
    return name !== null && wide(name) <= room ? name : null;
  });
}

/** What is in front of a block's number; the whole title without one. */
function listOf(title: string): string {
  return /^(.+)\.\d+$/.exec(title)?.[1] ?? title;
}

/** How many letters of a list's name fit all blocks of a group that are of usual width. */
function keptOf(list: string, group: readonly Named[], wide: (text: string) => number): number {
  const rooms = group.map(({ room }) => room).sort((a, b) => a - b);
  const usual = (rooms[rooms.length >> 1] ?? 0) / 2;
  const counted = group.filter(({ room }) => room >= usual);
  for (let kept = list.length; kept > 0; kept -= 1) {
    if (counted.every(({ title, room }) => wide(keptName(title, kept) ?? "") <= room)) return kept;
  }
  return 0;
}

/** `down.0`, `do….0` or `d.0`; of a name without number `atten…`; null where nothing of it is left. */
function keptName(title: string, kept: number): string | null {
  const list = listOf(title);
  if (kept >= list.length) return title;
  if (kept === 0) return null;
  // A mark for what is left out: `layer.0` would be another module's name, where `l.0` is read as short.
  return `${list.slice(0, kept)}${title === list || kept > 1 ? "…" : ""}${title.slice(list.length)}`;
}

/** The first place between two for a text so wide that no flag stands over; null where all are taken. */
export function placeBeside(flags: readonly number[], from: number, until: number, wide: number): number | null {
  const places = [from, ...flags.map((flag) => flag + FLAG).filter((place) => place > from)].sort((a, b) => a - b);
  const free = (place: number): boolean => flags.every((flag) => flag <= place - FLAG || flag >= place + wide + FLAG);
  return places.find((place) => place + wide <= until && free(place)) ?? null;
}

/** How high a block is filled: by the share of its nodes that differ, and seen where it is but one. */
export function filledHeight(share: number | null, high: number): number {
  return share === null ? high : Math.min(high, Math.max(LEAST_FILL, Math.round(share * high)));
}

function paintFlag(context: CanvasRenderingContext2D, palette: DiffPalette, x: number): void {
  context.fillStyle = palette.bad;
  context.beginPath();
  context.moveTo(x - 5, 0);
  context.lineTo(x + 5, 0);
  context.lineTo(x, 7);
  context.fill();
}

function paintPhases(context: CanvasRenderingContext2D, scene: ProfileScene, flags: readonly number[]): void {
  const { profile, width, height, palette, phase } = scene;
  const bins = profile.worst.length;
  context.font = `10.5px ${palette.font}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  profile.phases.forEach(({ name, bin }, index) => {
    const end = Math.min(width, xOf(scene, (profile.phases[index + 1]?.bin ?? bins) / bins));
    const begin = xOf(scene, bin / bins);
    const x = Math.max(0, begin);
    context.fillStyle = palette.line;
    if (begin > 0) context.fillRect(begin, 0, 1, height);
    if (height < LABELLED) return;
    const text = phase(name);
    // A label that does not fit would seem to be that of the next pass.
    const wide = context.measureText(text).width;
    if (x + 4 + wide > end) return;
    const place = placeBeside(flags, x + 4, end, wide) ?? x + 4;
    // Where flags leave no room it stands over them, on ground of its own.
    context.lineWidth = 4;
    context.lineJoin = "round";
    context.strokeStyle = palette.canvas;
    context.strokeText(text, place, LABELS / 2);
    context.fillStyle = palette.muted;
    context.fillText(text, place, LABELS / 2);
  });
}

function xOf({ width, span: { from, to } }: Pick<ProfileScene, "width" | "span">, share: number): number {
  return ((share - from) / (to - from)) * width;
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
