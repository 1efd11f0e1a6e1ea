/* Leads edges between boxes so that none crosses a box it has nothing to do with.
 *
 * Where a curve straight from box to box would, the edge keeps to what is free by construction: the gaps
 * between layers, and the room that every open box and every lane has to the right of what stands in it.
 * An end inside open boxes first goes down out of them (or up), one after the other. */

export type Point = readonly [number, number];

export interface LaidEdge {
  from: number;
  to: number;
  /** Nothing tells that the one reads the other: the line ends before the box. */
  loose?: boolean;
}

export interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
  /** Of an open box: how far its title reaches. */
  title?: number;
}

export interface Route extends LaidEdge {
  /** From the lower edge of one box to the upper of the other, or from side to side. */
  path: string;
  /** It goes round boxes between its ends: a residual. */
  skips: boolean;
  /** Where a text beside its end begins. */
  label: Point;
}

/** One lane of the outermost boxes; its name stands in the strip above them. */
export interface LanePlace {
  lane: number;
  x: number;
  width: number;
}

export interface Ground {
  places: ReadonlyMap<number, Place>;
  /** The open box that each box stands in, and the lane of those that stand in none. */
  parents: ReadonlyMap<number, number | null>;
  laneOf: ReadonlyMap<number, number>;
  lanes: readonly LanePlace[];
  /** What is reckoned here as down is to the right on screen, where titles run as ever. */
  across: boolean;
}

/** A vertical line that stands already. */
interface Upright {
  x: number;
  top: number;
  foot: number;
  from: number;
}

/** To the right of what a line goes round, and between lines that run side by side. */
export const ARC = 18;
export const ARC_GAP = 9;
/** Between lanes of the outermost boxes, with room for what leads from one to another. */
export const LANE_GAP = 40;
/** Lines run so far from the boxes of the layer above or below: less than half of any gap. */
const APART = 12;
/** Below a layer, so that they strike out no shape that stands at an edge there. */
const BELOW = 5;
const CLEAR = 3;
/** Between the end of a loose line and its box. */
const LOOSE = 10;
/** The height of the title of an open box. */
const TITLE = 18;
const CORNER = 10;
const SAMPLES = 32;

/** The boxes from one out to the outermost that the other end does not stand in, for both ends. */
export function sides({ from, to }: LaidEdge, parents: Ground["parents"]): [number[], number[]] {
  const out = (id: number): number[] => {
    const up = [id];
    for (let at = parents.get(id); at != null; at = parents.get(at)) up.push(at);
    return up;
  };
  const [one, other] = [out(from), out(to)];
  while (one.length > 0 && one[one.length - 1] === other[other.length - 1]) {
    one.pop();
    other.pop();
  }
  return [one, other];
}

/** All edges that end in closed boxes; the shorter ones run inside. */
export function routed(edges: readonly LaidEdge[], ground: Ground): Route[] {
  const open = new Set(ground.parents.values());
  const peers = peersIn(ground);
  const routes = edges
    .filter(({ from, to }) => from !== to && ground.places.has(from) && ground.places.has(to) && !open.has(from) && !open.has(to))
    .map((edge): Route => ({ ...edge, path: "", skips: false, label: [0, 0] }));
  const taken: Upright[] = [];
  for (const route of [...routes].sort((a, b) => tall(a, ground) - tall(b, ground))) {
    const [start, end] = [placeOf(ground, route.from), placeOf(ground, route.to)];
    const free = isFree(route, start, end, ground);
    const points = free ? [] : new Detour(route, ground, peers, taken).points();
    route.skips = !free;
    const before = route.loose === true ? LOOSE : 0;
    route.path = free ? straight(start, { ...end, y: end.y - before }) : rounded(endingBefore(points, before));
    route.label = besideEnd(points.slice(-2), end);
  }
  return routes;
}

function tall({ from, to }: LaidEdge, ground: Ground): number {
  return Math.abs(placeOf(ground, to).y - placeOf(ground, from).y);
}

function placeOf({ places }: Ground, id: number): Place {
  return places.get(id) ?? { x: 0, y: 0, width: 0, height: 0 };
}

/** For a box all that stand beside it: in the same open box, of the outermost in the same lane. */
function peersIn(ground: Ground): (id: number) => readonly Place[] {
  const groups = new Map<string, Place[]>();
  const key = (id: number): string => {
    const parent = ground.parents.get(id) ?? null;
    return parent === null ? `lane ${ground.laneOf.get(id) ?? 0}` : String(parent);
  };
  for (const [id, place] of ground.places) groups.set(key(id), [...(groups.get(key(id)) ?? []), place]);
  return (id) => groups.get(key(id)) ?? [];
}

/** Whether the curve from box to box meets no box but those that its ends stand in. */
function isFree(edge: LaidEdge, start: Place, end: Place, ground: Ground): boolean {
  if (end.y <= start.y + start.height) return false;
  const { x1, y1, x2, y2, bend } = ends(start, end);
  const own = new Set<number | null>();
  for (const id of [edge.from, edge.to]) {
    for (let at: number | null = id; at !== null; at = ground.parents.get(at) ?? null) own.add(at);
  }
  const boxes = [...ground.places].filter(([id]) => !own.has(id)).map(([, place]) => place);
  const others = [...boxes, ...titlesOver(edge.to, ground)];
  const near = others.filter((one) => one.y < y2 + CLEAR && one.y + one.height > y1 - CLEAR);
  for (let index = 0; index <= SAMPLES; index += 1) {
    const t = index / SAMPLES;
    const [a, b, c, d] = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3];
    const [x, y] = [(a + b) * x1 + (c + d) * x2, a * y1 + b * (y1 + bend) + c * (y2 - bend) + d * y2];
    if (near.some((one) => x > one.x - CLEAR && x < one.x + one.width + CLEAR && y > one.y - CLEAR && y < one.y + one.height + CLEAR)) return false;
  }
  return true;
}

/** The titles of the open boxes that a box stands in. */
function titlesOver(id: number, { places, parents, across }: Ground): Place[] {
  const titles: Place[] = [];
  for (let at = parents.get(id) ?? null; at !== null; at = parents.get(at) ?? null) {
    const { x = 0, y = 0, title = 0 } = places.get(at) ?? {};
    if (title > 0) titles.push(across ? { x: x + CLEAR, y, width: TITLE, height: title } : { x, y: y + CLEAR, width: title, height: TITLE });
  }
  return titles;
}

/** Right of an arrow that comes from above, over one that comes from the side. */
function besideEnd([before, last]: readonly Point[], end: Place): Point {
  if (last && before?.[1] === last[1]) return [last[0] + 8, last[1] - 4];
  return [end.x + end.width / 2 + 7, end.y - 5];
}

function ends(start: Place, end: Place): { x1: number; y1: number; x2: number; y2: number; bend: number } {
  const [y1, y2] = [start.y + start.height, end.y];
  return { x1: start.x + start.width / 2, y1, x2: end.x + end.width / 2, y2, bend: (y2 - y1) / 2 };
}

function straight(start: Place, end: Place): string {
  const { x1, y1, x2, y2, bend } = ends(start, end);
  return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
}

/** The way of one edge round boxes, of lines that run down or to the side. */
class Detour {
  constructor(
    private readonly edge: LaidEdge,
    private readonly ground: Ground,
    private readonly peers: (id: number) => readonly Place[],
    private readonly taken: Upright[],
  ) {}

  points(): Point[] {
    const [one, other] = sides(this.edge, this.ground.parents);
    const [leave, arrive] = [this.outOf(one, 1), this.outOf(other, -1)];
    const [a, b] = [one[one.length - 1] ?? 0, other[other.length - 1] ?? 0];
    const [[x1], [x2]] = [leave[leave.length - 1] ?? [0, 0], arrive[arrive.length - 1] ?? [0, 0]];
    const [y1, y2] = [this.gap(a, 1), this.gap(b, -1)];
    const between = this.across(a, b, [x1, y1], [x2, y2]);
    const points = unbent([...leave, [x1, y1], ...between, [x2, y2], ...arrive.reverse()]);
    return this.fromSide(this.edge.to, this.fromSide(this.edge.from, points, 1).reverse(), -1).reverse();
  }

  /** Down (1) or up (-1) out of the open boxes that an end stands in. */
  private outOf(chain: readonly number[], way: 1 | -1): Point[] {
    const start = placeOf(this.ground, chain[0] ?? 0);
    let x = start.x + start.width / 2;
    const points: Point[] = [[x, way > 0 ? start.y + start.height : start.y]];
    chain.slice(1).forEach((holder, index) => {
      const [inner, outer] = [chain[index] ?? 0, placeOf(this.ground, holder)];
      const y = this.gap(inner, way);
      const beside = this.upright(inner, [x], y, way > 0 ? outer.y + outer.height : outer.y, outer.x + outer.width - 5);
      points.push([x, y], [beside, y]);
      x = beside;
    });
    return points;
  }

  /** The height at which a line may run below (1) or above (-1) all boxes of the layer of one. */
  private gap(id: number, way: 1 | -1): number {
    const { y } = placeOf(this.ground, id);
    if (way < 0) return y - APART;
    const layer = this.peers(id).filter((one) => one.y === y);
    return Math.max(...layer.map((one) => one.y + one.height)) + BELOW;
  }

  /** Where to go down among the boxes beside one: in the first column that is free, else right of all. */
  private upright(id: number, columns: readonly number[], y1: number, y2: number, limit: number): number {
    const [top, foot] = [Math.min(y1, y2), Math.max(y1, y2)];
    const inTheWay = this.peers(id).filter((one) => one.y < foot && one.y + one.height > top);
    const isFreeAt = (x: number): boolean => inTheWay.every((one) => x < one.x - CLEAR || x > one.x + one.width + CLEAR);
    const x = columns.find(isFreeAt) ?? this.apart(Math.max(...inTheWay.map((one) => one.x + one.width)) + ARC, top, foot, limit);
    this.taken.push({ x, top, foot, from: this.edge.from });
    return x;
  }

  /** Right of the lines of other outputs that stand there, as far as there is room. */
  private apart(least: number, top: number, foot: number, limit: number): number {
    let x = least;
    const others = this.taken.filter((one) => one.from !== this.edge.from && one.top < foot && one.foot > top);
    for (const one of others.sort((a, b) => a.x - b.x)) if (Math.abs(one.x - x) < ARC_GAP) x = one.x + ARC_GAP;
    return Math.min(x, limit);
  }

  /** From the one to the other of two boxes that stand beside each other, or in two lanes. */
  private across(a: number, b: number, [x1, y1]: Point, [x2, y2]: Point): Point[] {
    const { lanes, laneOf, parents } = this.ground;
    const place = (id: number): number => lanes.findIndex(({ lane }) => lane === (laneOf.get(id) ?? 0));
    const holder = parents.get(a) ?? null;
    const [from, to] = [place(a), place(b)];
    if (holder !== null || from === to) {
      const [room, lane] = [holder === null ? null : placeOf(this.ground, holder), lanes[from]];
      const limit = room ? room.x + room.width - 5 : (lane?.x ?? 0) + (lane?.width ?? 0);
      const x = this.upright(a, [x1, x2], y1, y2, limit);
      return [[x, y1], [x, y2]];
    }
    // Between lanes nothing stands; a lane on the way is crossed between two of its layers.
    const border = (right: number): number => (lanes[right]?.x ?? 0) - LANE_GAP / 2;
    const step = to > from ? 1 : -1;
    const [first, last] = [border(step > 0 ? from + 1 : from), border(step > 0 ? to : to + 1)];
    const y = this.crossing(Math.min(from, to) + 1, Math.max(from, to), y1);
    return [[first, y1], [first, y], [last, y], [last, y2]];
  }

  private crossing(from: number, until: number, wish: number): number {
    const { lanes, laneOf, places, parents } = this.ground;
    const between = new Set(lanes.slice(from, until).map(({ lane }) => lane));
    const boxes = [...places].filter(([id]) => parents.get(id) == null && between.has(laneOf.get(id) ?? 0)).map(([, place]) => place);
    const free = (y: number): boolean => boxes.every((one) => y < one.y - CLEAR || y > one.y + one.height + CLEAR);
    const heights = [wish, ...boxes.flatMap(({ y, height }) => [y - APART, y + height + APART])].filter(free);
    return heights.sort((a, b) => Math.abs(a - wish) - Math.abs(b - wish))[0] ?? wish;
  }

  /** What turns to the right at once begins at the right side of its box, where nothing stands beside that. */
  private fromSide(id: number, points: Point[], way: 1 | -1): Point[] {
    const box = placeOf(this.ground, id);
    const [, gap, turn] = points;
    const right = box.x + box.width;
    if (!gap || !turn || points.length < 4 || turn[1] !== gap[1] || turn[0] < right + CLEAR) return points;
    const y = way > 0 ? box.y + box.height - 8 : box.y + 8;
    const [top, foot] = [Math.min(y, gap[1]) - CLEAR, Math.max(y, gap[1])];
    const beside = [...this.ground.places.values()].some((one) => one.x > right && one.x < turn[0] + CLEAR && one.y < foot && one.y + one.height > top);
    return beside ? points : [[right, y], [turn[0], y], ...points.slice(3)];
  }
}

/** Without points that stand twice or on the line between their neighbours. */
function unbent(points: readonly Point[]): Point[] {
  const kept: Point[] = [];
  for (const point of points) {
    const [before, last] = [kept[kept.length - 2], kept[kept.length - 1]];
    if (last?.[0] === point[0] && last[1] === point[1]) continue;
    if (before && last && [0, 1].some((axis) => before[axis] === last[axis] && last[axis] === point[axis])) kept.pop();
    kept.push(point);
  }
  return kept;
}

/** The points of a line that ends a little earlier. */
function endingBefore(points: readonly Point[], by: number): readonly Point[] {
  const [before, last] = points.slice(-2);
  if (by === 0 || !before || !last) return points;
  const long = Math.hypot(before[0] - last[0], before[1] - last[1]);
  const part = long === 0 ? 0 : Math.min(by, long - 1) / long;
  return [...points.slice(0, -1), [last[0] + (before[0] - last[0]) * part, last[1] + (before[1] - last[1]) * part]];
}

function rounded(points: readonly Point[]): string {
  return points
    .map((point, index) => {
      const [before, after] = [points[index - 1], points[index + 1]];
      if (!before) return `M${point.join(" ")}`;
      if (!after) return `L${point.join(" ")}`;
      return `L${towards(point, before).join(" ")}Q${point.join(" ")} ${towards(point, after).join(" ")}`;
    })
    .join("");
}

/** A little away from a corner, at most half of the line. */
function towards([x, y]: Point, [toX, toY]: Point): Point {
  const long = Math.hypot(toX - x, toY - y);
  const part = long === 0 ? 0 : Math.min(CORNER, long / 2) / long;
  return [x + (toX - x) * part, y + (toY - y) * part];
}
