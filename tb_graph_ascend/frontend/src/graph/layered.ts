/* Lays out boxes top-down in layers, boxes inside boxes included. Knows nothing of the page.
 *
 * Boxes come in execution order and every edge runs along it, so there are no cycles to break. A box
 * stands below all that it reads (longest path); in a layer boxes stand below what feeds them. The
 * result depends on what is given alone, so what did not change keeps its place when a box opens. */

export interface LaidBox {
  id: number;
  /** The open box that it stands in. */
  parent: number | null;
  /** Of a box that stands in none: lanes stand side by side, the lowest left. */
  lane?: number;
  /** Of a box as such; one that others stand in takes the size that they need. */
  width: number;
  height: number;
}

export interface LaidEdge {
  from: number;
  to: number;
}

export interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Route extends LaidEdge {
  /** From the lower edge of one box to the upper of the other, as cubic curves. */
  path: string;
  /** It passes boxes between its ends: a residual. */
  skips: boolean;
}

/** One lane of the outermost boxes; its name stands in the strip above them. */
export interface LanePlace {
  lane: number;
  x: number;
  width: number;
}

export interface Layout {
  places: Map<number, Place>;
  routes: Route[];
  /** The lanes from left to right; one alone has no name. */
  lanes: LanePlace[];
  width: number;
  height: number;
}

const GAP_X = 28;
const GAP_Y = 34;
const PAD = 14;
/** Room for the title of an open box, and below what stands in it for the shapes at its edges. */
const HEAD = 26;
const FOOT = 24;
const ARC = 18;
/** Between residuals that run side by side. */
const ARC_GAP = 9;
const MOST_ARCS = 12;
/** Between lanes, with room for residuals, and above them for their names. */
const LANE_GAP = 40;
const LANE_HEAD = 26;

interface Inner {
  /** Relative to the box that they stand in. */
  places: Map<number, Place>;
  width: number;
  height: number;
}

export function layOut(boxes: readonly LaidBox[], edges: readonly LaidEdge[]): Layout {
  const inside = new Map<number | null, LaidBox[]>();
  for (const box of boxes) inside.set(box.parent, [...(inside.get(box.parent) ?? []), box]);
  const parents = new Map(boxes.map(({ id, parent }) => [id, parent]));
  const lifted = liftEdges(edges, parents);
  const places = new Map<number, Place>();
  const sizes = new Map<number | null, Inner>();
  const measure = (of: number | null): Inner => {
    const members = (inside.get(of) ?? []).map((box): LaidBox => {
      if (!inside.has(box.id)) return box;
      const { width, height } = measure(box.id);
      return { ...box, width: Math.max(box.width, width + 2 * PAD), height: height + HEAD + FOOT };
    });
    const level = lifted.get(of) ?? [];
    const arcs = ARC + ARC_GAP * Math.min(MOST_ARCS, residuals(members, level));
    const inner = of === null ? layOutLanes(members, level, lanes) : layOutLevel(members, level);
    const roomy = of === null ? inner : { ...inner, width: inner.width + arcs };
    sizes.set(of, roomy);
    return roomy;
  };
  const lanes: LanePlace[] = [];
  const whole = measure(null);
  const put = (of: number | null, left: number, top: number): void => {
    for (const [id, place] of sizes.get(of)?.places ?? []) {
      const here = { ...place, x: place.x + left, y: place.y + top };
      places.set(id, here);
      const own = sizes.get(id);
      if (own) put(id, here.x + (here.width - own.width) / 2, here.y + HEAD);
    }
  };
  put(null, PAD, PAD);
  const open = new Set([...inside.keys()].filter((id) => id !== null));
  const beside = new Map<number | null, Place[]>();
  for (const [id, place] of places) {
    const parent = parents.get(id) ?? null;
    const known = beside.get(parent);
    if (known) known.push(place);
    else beside.set(parent, [place]);
  }
  const routes = routed(edges, places, (from) => beside.get(parents.get(from) ?? null) ?? [], open);
  return { places, routes, lanes, width: whole.width + 2 * PAD, height: whole.height + 2 * PAD };
}

/** How many edges of a level skip a box, more or less: between neighbours in time none does. */
function residuals(members: readonly LaidBox[], edges: readonly LaidEdge[]): number {
  const order = new Map(members.map(({ id }, index) => [id, index]));
  return edges.filter(({ from, to }) => (order.get(to) ?? 0) - (order.get(from) ?? 0) > 1).length;
}

/** Each lane by itself, side by side; what leads from one to another has no say. */
function layOutLanes(members: readonly LaidBox[], edges: readonly LaidEdge[], lanes: LanePlace[]): Inner {
  const names = [...new Set(members.map(({ lane = 0 }) => lane))].sort((a, b) => a - b);
  const places = new Map<number, Place>();
  const head = names.length > 1 ? LANE_HEAD : 0;
  let [x, height] = [0, 0];
  for (const lane of names) {
    const own = members.filter((one) => (one.lane ?? 0) === lane);
    const inner = layOutLevel(own, edges);
    for (const [id, place] of inner.places) places.set(id, { ...place, x: place.x + x, y: place.y + head });
    const width = inner.width + ARC + ARC_GAP * Math.min(MOST_ARCS, residuals(own, edges));
    lanes.push({ lane, x: x + PAD, width });
    x += width + LANE_GAP;
    height = Math.max(height, inner.height + head);
  }
  return { places, width: Math.max(0, x - LANE_GAP), height };
}

/** Each edge between the two members of one box that it leads between. */
function liftEdges(edges: readonly LaidEdge[], parents: ReadonlyMap<number, number | null>): Map<number | null, LaidEdge[]> {
  const chain = (id: number): number[] => {
    const up = [id];
    for (let at = parents.get(id); at != null; at = parents.get(at)) up.push(at);
    return up.reverse();
  };
  const lifted = new Map<number | null, LaidEdge[]>();
  for (const { from, to } of edges) {
    const [one, other] = [chain(from), chain(to)];
    let depth = 0;
    while (depth < one.length && one[depth] === other[depth]) depth += 1;
    const [start, end] = [one[depth], other[depth]];
    if (start === undefined || end === undefined) continue;
    const level = depth === 0 ? null : (one[depth - 1] ?? null);
    lifted.set(level, [...(lifted.get(level) ?? []), { from: start, to: end }]);
  }
  return lifted;
}

function layOutLevel(members: readonly LaidBox[], edges: readonly LaidEdge[]): Inner {
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
  return placeLayers(members, layers.filter(Boolean), feeds);
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

function placeLayers(members: readonly LaidBox[], layers: readonly number[][], feeds: readonly number[][]): Inner {
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
    y += Math.max(...sorted.map((index) => members[index]?.height ?? 0)) + GAP_Y;
  }
  const left = Math.min(0, ...members.map(({ width }, index) => (centre[index] ?? 0) - width / 2));
  const places = new Map<number, Place>();
  let right = 0;
  members.forEach(({ id, width, height }, index) => {
    const x = (centre[index] ?? 0) - width / 2 - left;
    right = Math.max(right, x + width);
    places.set(id, { x, y: tops[index] ?? 0, width, height });
  });
  return { places, width: right, height: Math.max(0, y - GAP_Y) };
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

/** All edges; residuals that run beside each other keep apart, the shorter inside. */
function routed(
  edges: readonly LaidEdge[],
  places: ReadonlyMap<number, Place>,
  beside: (from: number) => readonly Place[],
  open: ReadonlySet<number>,
): Route[] {
  const arcs: { route: Route; start: Place; end: Place; side: number }[] = [];
  const routes: Route[] = [];
  for (const edge of edges) {
    const [start, end] = [places.get(edge.from), places.get(edge.to)];
    if (!start || !end || open.has(edge.from) || open.has(edge.to)) continue;
    const between = skipped(start, end, beside(edge.from));
    const route: Route = { ...edge, skips: between.length > 0, path: straight(start, end) };
    routes.push(route);
    if (between.length === 0) continue;
    const side = Math.max(...[...between, start, end].map((one) => one.x + one.width)) + ARC;
    arcs.push({ route, start, end, side });
  }
  arcs.sort((a, b) => a.end.y - a.start.y - (b.end.y - b.start.y));
  arcs.forEach((arc, index) => {
    for (const inner of arcs.slice(0, index)) {
      const apart = inner.end.y <= arc.start.y || inner.start.y >= arc.end.y;
      const near = Math.abs(inner.side - arc.side) < ARC_GAP * MOST_ARCS;
      // Readers of one output share a line as far as it goes.
      if (!apart && near && inner.route.from !== arc.route.from) arc.side = Math.max(arc.side, inner.side + ARC_GAP);
    }
    arc.route.path = around(arc.start, arc.end, arc.side);
  });
  return routes;
}

/** The boxes beside two that stand in the way from the one to the other. */
function skipped(start: Place, end: Place, beside: readonly Place[]): Place[] {
  const [x1, y1] = [start.x + start.width / 2, start.y + start.height];
  const [x2, y2] = [end.x + end.width / 2, end.y];
  const [left, right] = [Math.min(x1, x2) - 4, Math.max(x1, x2) + 4];
  return beside.filter(
    (one) =>
      one !== start && one !== end && one.y >= y1 && one.y + one.height <= y2 && one.x < right && one.x + one.width > left,
  );
}

function straight(start: Place, end: Place): string {
  const [x1, y1] = [start.x + start.width / 2, start.y + start.height];
  const [x2, y2] = [end.x + end.width / 2, end.y];
  const bend = Math.max(12, (y2 - y1) / 2);
  return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
}

/** A residual goes round what it skips, on the right. */
function around(start: Place, end: Place, side: number): string {
  const [y1, y2] = [start.y + start.height, end.y];
  return `M${start.x + start.width} ${y1 - 8}C${side} ${y1 - 8} ${side} ${y1} ${side} ${y1 + 14}L${side} ${y2 - 14}C${side} ${y2} ${side} ${y2 + 8} ${end.x + end.width} ${y2 + 8}`;
}
