/* Lays out boxes in layers, top-down or from left to right, boxes inside boxes included. Knows nothing of the page.
 *
 * All is reckoned top-down; from left to right it is the same with x and y exchanged, and other room for texts.
 *
 * Boxes come in execution order and every edge runs along it, so there are no cycles to break. A box
 * stands below all that it reads (longest path); in a layer boxes stand below what feeds them. The
 * result depends on what is given alone, so what did not change keeps its place when a box opens. */

import { ARC, ARC_GAP, LANE_GAP, type LaidEdge, type LanePlace, type Place, type Route, routed, sides } from "./boxroutes";

export interface LaidBox {
  id: number;
  /** The open box that it stands in. */
  parent: number | null;
  /** Of a box that stands in none: lanes stand side by side, the lowest left. */
  lane?: number;
  /** Of a box as such; one that others stand in takes the size that they need. */
  width: number;
  height: number;
  /** How far its title reaches from its left border; where others stand in it no edge runs through that. */
  title?: number;
}

export interface Layout {
  places: Map<number, Place>;
  routes: Route[];
  /** The lanes from left to right; one alone has no name. */
  lanes: LanePlace[];
  width: number;
  height: number;
  /** Layers stand beside each other, and lanes below. */
  across: boolean;
}

const GAP_X = 28;
const PAD = 14;

/** Room for texts, which run from left to right whatever the layers do. */
interface Room {
  /** Between layers: for the shapes at edges. */
  gap: number;
  /** In an open box before what stands in it, behind it, and to its side: for its title, and shapes at edges. */
  head: number;
  foot: number;
  aside: number;
  /** Over lanes or to their side, for their names. */
  laneHead: number;
  laneAside: number;
}

const DOWN: Room = { gap: 34, head: 26, foot: 24, aside: 0, laneHead: 26, laneAside: 0 };
const ACROSS: Room = { gap: 76, head: PAD, foot: 70, aside: 26, laneHead: 0, laneAside: 26 };
/** So many lines side by side have room of their own beside the boxes of a level. */
const MOST_ARCS = 12;
/** Between a title and the edges beside it. */
const BESIDE = 8;

interface Inner {
  /** Relative to the box that they stand in. */
  places: Map<number, Place>;
  width: number;
  height: number;
  /** Where it begins in the box: in the middle, but so far right that what leads into it passes the title. */
  left: number;
}

export function layOut(boxes: readonly LaidBox[], edges: readonly LaidEdge[], across = false): Layout {
  if (!across) return laidOut(boxes, edges, false);
  const turned = boxes.map((box) => ({ ...box, width: box.height, height: box.width }));
  return exchanged(laidOut(turned, edges, true));
}

/** A layout with x and y exchanged; its lanes lie below each other then. */
function exchanged({ places, routes, ...rest }: Layout): Layout {
  return {
    ...rest,
    places: new Map([...places].map(([id, { x, y, width, height, ...others }]) => [id, { ...others, x: y, y: x, width: height, height: width }])),
    routes: routes.map((route) => {
      const { x, y, width } = places.get(route.to) ?? { x: 0, y: 0, width: 0 };
      return { ...route, path: route.path.replaceAll(/(-?[\d.]+(?:e-?\d+)?) (-?[\d.]+(?:e-?\d+)?)/g, "$2 $1"), label: [y - 8, x + width / 2 - 6] };
    }),
    width: rest.height,
    height: rest.width,
  };
}

function laidOut(boxes: readonly LaidBox[], edges: readonly LaidEdge[], across: boolean): Layout {
  const room = across ? ACROSS : DOWN;
  const inside = new Map<number | null, LaidBox[]>();
  for (const box of boxes) inside.set(box.parent, [...(inside.get(box.parent) ?? []), box]);
  const parents = new Map(boxes.map(({ id, parent }) => [id, parent]));
  const lifted = liftEdges(edges, parents);
  const through = passingOut(edges, parents, inside);
  const entered = enteredIn(edges, parents, inside);
  const places = new Map<number, Place>();
  const sizes = new Map<number | null, Inner>();
  const entries = new Map<number, number>();
  const measure = (of: number | null, outer?: LaidBox): Inner => {
    const members = (inside.get(of) ?? []).map((box): LaidBox => {
      if (!inside.has(box.id)) {
        entries.set(box.id, box.width / 2);
        return box;
      }
      const { width, height, left } = measure(box.id, box);
      return { ...box, width: Math.max(box.width, width + 2 * PAD, left + width + PAD), height: Math.max(box.height, height + room.head + room.foot) };
    });
    const level = lifted.get(of) ?? [];
    const passing = of === null ? 0 : (through.get(of)?.size ?? 0);
    const arcs = ARC + ARC_GAP * Math.min(MOST_ARCS, residuals(members, level) + passing);
    const inner = of === null ? layOutLanes(members, level, lanes, room) : layOutLevel(members, level, room);
    const width = of === null ? inner.width : inner.width + arcs;
    const ends = [...(entered.get(of) ?? [])].map((id) => (inner.places.get(id)?.x ?? 0) + (entries.get(id) ?? 0));
    const first = Math.min(...ends);
    const middle = Math.max(PAD, room.aside, ((outer?.width ?? 0) - width) / 2);
    // To the side of a title there is room for all; below one nothing may lead through it.
    const left = Number.isFinite(first) && !across ? Math.max(middle, (outer?.title ?? 0) + BESIDE - first) : middle;
    if (of !== null && Number.isFinite(first)) entries.set(of, left + first);
    const roomy = { ...inner, width, left };
    sizes.set(of, roomy);
    return roomy;
  };
  const titles = new Map(boxes.map(({ id, title = 0 }) => [id, title]));
  const lanes: LanePlace[] = [];
  const whole = measure(null);
  const put = (of: number | null, left: number, top: number): void => {
    for (const [id, place] of sizes.get(of)?.places ?? []) {
      const own = sizes.get(id);
      const here = { ...place, x: place.x + left, y: place.y + top, ...(own ? { title: titles.get(id) ?? 0 } : {}) };
      places.set(id, here);
      if (own) put(id, here.x + own.left, here.y + room.head);
    }
  };
  put(null, PAD, PAD);
  const laneOf = new Map(boxes.map(({ id, lane = 0 }) => [id, lane]));
  const routes = routed(edges, { places, parents, laneOf, lanes, across });
  return { places, routes, lanes, across, width: whole.width + 2 * PAD, height: whole.height + 2 * PAD };
}

/** How many edges of a level skip a box, more or less: between neighbours in time none does. */
function residuals(members: readonly LaidBox[], edges: readonly LaidEdge[]): number {
  const order = new Map(members.map(({ id }, index) => [id, index]));
  return edges.filter(({ from, to }) => (order.get(to) ?? 0) - (order.get(from) ?? 0) > 1).length;
}

/** Each lane by itself, side by side; what leads from one to another has no say. */
function layOutLanes(members: readonly LaidBox[], edges: readonly LaidEdge[], lanes: LanePlace[], room: Room): Inner {
  const names = [...new Set(members.map(({ lane = 0 }) => lane))].sort((a, b) => a - b);
  const places = new Map<number, Place>();
  const [head, aside] = names.length > 1 ? [room.laneHead, room.laneAside] : [0, 0];
  let [x, height] = [0, 0];
  for (const lane of names) {
    const own = members.filter((one) => (one.lane ?? 0) === lane);
    const inner = layOutLevel(own, edges, room);
    for (const [id, place] of inner.places) places.set(id, { ...place, x: place.x + x + aside, y: place.y + head });
    const width = aside + inner.width + ARC + ARC_GAP * Math.min(MOST_ARCS, residuals(own, edges));
    lanes.push({ lane, x: x + PAD, width });
    x += width + LANE_GAP;
    height = Math.max(height, inner.height + head);
  }
  return { places, width: Math.max(0, x - LANE_GAP), height, left: 0 };
}

/** Each edge between the two members of one box that it leads between. */
function liftEdges(edges: readonly LaidEdge[], parents: ReadonlyMap<number, number | null>): Map<number | null, LaidEdge[]> {
  const lifted = new Map<number | null, LaidEdge[]>();
  for (const edge of edges) {
    const [start, end] = sides(edge, parents).map((side) => side[side.length - 1]);
    if (start === undefined || end === undefined) continue;
    const level = parents.get(start) ?? null;
    lifted.set(level, [...(lifted.get(level) ?? []), { from: start, to: end }]);
  }
  return lifted;
}

/** By open box what stands right in it and is where edges from outside lead to, or into. */
function enteredIn(
  edges: readonly LaidEdge[],
  parents: ReadonlyMap<number, number | null>,
  inside: ReadonlyMap<number | null, readonly LaidBox[]>,
): Map<number | null, Set<number>> {
  const entered = new Map<number | null, Set<number>>();
  for (const edge of edges) {
    if (inside.has(edge.from) || inside.has(edge.to)) continue;
    const [, chain] = sides(edge, parents);
    chain.slice(1).forEach((holder, index) => entered.set(holder, (entered.get(holder) ?? new Set()).add(chain[index] ?? 0)));
  }
  return entered;
}

/** By open box the ends in it whose edges have to pass others in it on their way out. */
function passingOut(
  edges: readonly LaidEdge[],
  parents: ReadonlyMap<number, number | null>,
  inside: ReadonlyMap<number | null, readonly LaidBox[]>,
): Map<number, Set<number>> {
  const through = new Map<number, Set<number>>();
  for (const edge of edges) {
    sides(edge, parents).forEach((side, end) =>
      side.slice(1).forEach((holder, index) => {
        const members = inside.get(holder) ?? [];
        const nearest = end === 0 ? members[members.length - 1] : members[0];
        if (nearest?.id !== side[index]) through.set(holder, (through.get(holder) ?? new Set()).add(edge.from));
      }),
    );
  }
  return through;
}

function layOutLevel(members: readonly LaidBox[], edges: readonly LaidEdge[], { gap }: Room): Inner {
  const order = new Map(members.map(({ id }, index) => [id, index]));
  const feeds = members.map((): number[] => []);
  for (const { from, to } of edges) {
    const [start, end] = [order.get(from), order.get(to)];
    // What seems to run backwards is told by equal values; it has an edge, but no say in the layers.
    if (start !== undefined && end !== undefined && start < end) feeds[end]?.push(start);
  }
  const layer: number[] = [];
  members.forEach((_, index) => {
    const above = (feeds[index] ?? []).map((one) => (layer[one] ?? 0) + 1);
    layer.push(Math.max(0, ...above));
  });
  settle(layer, feeds);
  const layers: number[][] = [];
  layer.forEach((at, index) => (layers[at] ??= []).push(index));
  return placeLayers(members, layers.filter(Boolean), feeds, gap);
}

/** What nothing feeds would all stand in the first layer: it goes right above its first reader. */
function settle(layer: number[], feeds: readonly number[][]): void {
  const first = layer.map(() => Infinity);
  feeds.forEach((from, index) => from.forEach((one) => (first[one] = Math.min(first[one] ?? Infinity, layer[index] ?? 0))));
  layer.forEach((_, index) => {
    const reader = first[index] ?? Infinity;
    if ((feeds[index]?.length ?? 0) > 0) return;
    // Without a reader it keeps its place in time, behind what ran before it.
    layer[index] = Number.isFinite(reader) ? Math.max(0, reader - 1) : (layer[index - 1] ?? 0) + (index > 0 ? 1 : 0);
  });
}

function placeLayers(members: readonly LaidBox[], layers: readonly number[][], feeds: readonly number[][], gap: number): Inner {
  const centre: number[] = [];
  let y = 0;
  const tops: number[] = [];
  for (const one of layers) {
    const wishes = new Map(one.map((index) => [index, mean((feeds[index] ?? []).map((from) => centre[from] ?? 0))]));
    const wish = (index: number): number => wishes.get(index) ?? Infinity;
    // What nothing feeds stands beside the others and pushes none of them away.
    const sorted = [...one].sort((a, b) => (wish(a) === wish(b) ? a - b : wish(a) - wish(b)));
    spread(sorted, members, (index) => wishes.get(index) ?? null, centre);
    sorted.forEach((index) => (tops[index] = y));
    y += Math.max(...sorted.map((index) => members[index]?.height ?? 0)) + gap;
  }
  const left = Math.min(0, ...members.map(({ width }, index) => (centre[index] ?? 0) - width / 2));
  const places = new Map<number, Place>();
  let right = 0;
  members.forEach(({ id, width, height }, index) => {
    const x = (centre[index] ?? 0) - width / 2 - left;
    right = Math.max(right, x + width);
    places.set(id, { x, y: tops[index] ?? 0, width, height });
  });
  return { places, width: right, height: Math.max(0, y - gap), left: 0 };
}

/** Centres as near to their wishes as the widths allow, in order. */
function spread(
  sorted: readonly number[],
  members: readonly LaidBox[],
  wish: (index: number) => number | null,
  centre: number[],
): void {
  const half = (index: number): number => (members[index]?.width ?? 0) / 2;
  const place = (indices: readonly number[], from: number): number => {
    let reach = from;
    for (const index of indices) {
      const at = Math.max(wish(index) ?? (Number.isFinite(reach) ? -Infinity : 0), reach + half(index));
      centre[index] = at;
      reach = at + half(index) + GAP_X;
    }
    return reach;
  };
  const fed = sorted.filter((index) => wish(index) !== null);
  place(fed, -Infinity);
  // Pushed to one side they go back together, so that a layer stands under what feeds it.
  const shift = mean(fed.map((index) => (wish(index) ?? 0) - (centre[index] ?? 0))) ?? 0;
  let reach = -Infinity;
  for (const index of fed) {
    centre[index] = (centre[index] ?? 0) + shift;
    reach = Math.max(reach, (centre[index] ?? 0) + half(index) + GAP_X);
  }
  place(sorted.filter((index) => wish(index) === null), reach);
}

function mean(numbers: readonly number[]): number | null {
  return numbers.length === 0 ? null : numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}
