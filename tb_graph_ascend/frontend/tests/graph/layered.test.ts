/* Boxes in layers: nothing overlaps, all that is read stands above, what is inside stays inside. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { LaidEdge, Place } from "../../src/graph/boxroutes";
import { type LaidBox, layOut } from "../../src/graph/layered";

const box = (id: number, parent: number | null = null): LaidBox => ({ id, parent, width: 80 + (id % 5) * 20, height: 28 });

/** Boxes of which some stand in others, in execution order, and edges along it. */
const GRAPHS = fc
  .array(fc.record({ parent: fc.integer({ min: -6, max: 40 }), reads: fc.array(fc.nat(40), { maxLength: 3 }) }), { minLength: 1, maxLength: 40 })
  .map((drawn) => {
    const boxes = drawn.map(({ parent }, id) => box(id, parent >= 0 && parent < id ? parent : null));
    const edges = drawn.flatMap(({ reads }, to) => reads.filter((from) => from < to).map((from): LaidEdge => ({ from, to })));
    return { boxes, edges };
  });

const above = (boxes: readonly LaidBox[], id: number): number[] => {
  const parent = boxes[id]?.parent ?? null;
  return parent === null ? [] : [parent, ...above(boxes, parent)];
};

/** Points along a path of straight, quadratic and cubic pieces, close together. */
function drawn(path: string): [number, number][] {
  const points: [number, number][] = [];
  for (const [, command = "", numbers = ""] of path.matchAll(/([MLQC])([^MLQC]+)/g)) {
    const flat = numbers.trim().split(/[ ,]+/).map(Number);
    const pole = Array.from({ length: flat.length / 2 }, (_, index): [number, number] => [flat[2 * index] ?? NaN, flat[2 * index + 1] ?? NaN]);
    const before = points[points.length - 1];
    if (command === "M" || !before) points.push(...pole);
    else for (let step = 1; step <= 60; step += 1) points.push(onCurve([before, ...pole], step / 60));
  }
  return points;
}

/** De Casteljau's construction. */
function onCurve(poles: [number, number][], t: number): [number, number] {
  const [first = [NaN, NaN]] = poles;
  if (poles.length === 1) return first;
  return onCurve(poles.slice(1).map((next, index) => mixed(poles[index] ?? first, next, t)), t);
}

function mixed(one: [number, number], other: [number, number], t: number): [number, number] {
  return [one[0] * (1 - t) + other[0] * t, one[1] * (1 - t) + other[1] * t];
}

/** The boxes that an edge crosses and has nothing to do with. */
function crossed(boxes: readonly LaidBox[], { places, routes }: ReturnType<typeof layOut>): string[] {
  const parents = new Map(boxes.map(({ id, parent }) => [id, parent]));
  const holders = (id: number | null): number[] => (id === null ? [] : [id, ...holders(parents.get(id) ?? null)]);
  return routes.flatMap(({ from, to, path }) => {
    const own = new Set([...holders(from), ...holders(to)]);
    const way = drawn(path);
    return [...places]
      .filter(([id, { x, y, width, height }]) => !own.has(id) && way.some(([px, py]) => !(px <= x || px >= x + width || py <= y || py >= y + height)))
      .map(([id]) => `${from} → ${to} crosses ${id}`);
  });
}

describe("an edge", () => {
  it("crosses no box but those that its ends stand in, in lanes, too", () => {
    fc.assert(
      fc.property(GRAPHS, fc.array(fc.nat(2), { minLength: 40, maxLength: 40 }), fc.boolean(), fc.boolean(), ({ boxes, edges }, lanes, laned, across) => {
        const placed = laned ? boxes.map((one) => ({ ...one, lane: lanes[one.id] ?? 0 })) : boxes;
        const back = edges.slice(0, 2).map(({ from, to }) => ({ from: to, to: from }));
        expect(crossed(placed, layOut(placed, [...edges, ...back], across))).toEqual([]);
      }),
    );
  });

  it("runs through no title of an open box", () => {
    fc.assert(
      fc.property(GRAPHS, fc.array(fc.integer({ min: 20, max: 200 }), { minLength: 40, maxLength: 40 }), fc.boolean(), ({ boxes, edges }, titles, across) => {
        const titled = boxes.map((one) => ({ ...one, width: Math.max(one.width, (titles[one.id] ?? 0) + 10), title: titles[one.id] ?? 0 }));
        const { places, routes } = layOut(titled, edges, across);
        const open = titled.filter(({ id }) => boxes.some(({ parent }) => parent === id));
        const through = routes.flatMap(({ from, to, path }) => {
          const way = drawn(path);
          const struck = open.filter(({ id, title }) => {
            const { x, y } = places.get(id) ?? { x: NaN, y: NaN };
            return way.some(([px, py]) => px > x && px < x + title && py > y + 4 && py < y + 20);
          });
          return struck.map(({ id }) => `${from} → ${to} through the title of ${id}`);
        });
        expect(through).toEqual([]);
        expect(crossed(titled, { places, routes } as ReturnType<typeof layOut>)).toEqual([]);
      }),
    );
  });

  it("ends before its box where nothing tells that it reads, and at its border where something does", () => {
    const gapOf = (loose: boolean, between: number, across: boolean): number => {
      const boxes = Array.from({ length: between + 2 }, (_, id) => box(id));
      const chain = boxes.slice(1).map(({ id }) => ({ from: id - 1, to: id }));
      const layout = layOut(boxes, [...chain, { from: 0, to: between + 1, loose }], across);
      const route = layout.routes[layout.routes.length - 1];
      const [x, y] = drawn(route?.path ?? "").pop() ?? [NaN, NaN];
      const at = layout.places.get(between + 1) ?? { x: NaN, y: NaN, width: NaN, height: NaN };
      return Math.hypot(Math.max(at.x - x, 0, x - at.x - at.width), Math.max(at.y - y, 0, y - at.y - at.height));
    };
    for (const between of [1, 3]) for (const across of [false, true]) {
      expect(gapOf(false, between, across)).toBeCloseTo(0);
      expect(gapOf(true, between, across)).toBeGreaterThan(5);
    }
  });

  it("out of an opened box goes round all that stands between, and ends where it should", () => {
    // down: 1 → 2 in 0; then 3, 4; up: 6 in 5 reads the skip, in the middle of 5.
    const boxes = [box(0), box(1, 0), box(2, 0), box(3), box(4), box(5), box(6, 5), box(7, 5)];
    const edges = [[1, 2], [2, 3], [3, 4], [4, 6], [6, 7], [1, 7], [2, 7]].map(([from = 0, to = 0]) => ({ from, to }));
    const layout = layOut(boxes, edges);
    expect(crossed(boxes, layout)).toEqual([]);
    const skip = layout.routes.find(({ from, to }) => from === 2 && to === 7);
    expect(skip?.skips).toBe(true);
    const [start, end] = [drawn(skip?.path ?? "")[0], drawn(skip?.path ?? "").pop()];
    const isAt = (id: number, [x, y]: [number, number] = [NaN, NaN]): boolean => {
      const at = layout.places.get(id);
      return at !== undefined && x >= at.x && x <= at.x + at.width && y >= at.y && y <= at.y + at.height;
    };
    expect([isAt(2, start), isAt(7, end)]).toEqual([true, true]);
  });
});

describe("a layout", () => {
  it("from left to right has all that is read to the left, and titles over what stands in a box", () => {
    fc.assert(
      fc.property(GRAPHS, ({ boxes, edges }) => {
        const { places } = layOut(boxes, edges, true);
        const at = (id: number): Place => places.get(id) ?? { x: NaN, y: NaN, width: NaN, height: NaN };
        for (const { from, to } of edges) {
          const [one, other] = [above(boxes, from), above(boxes, to)];
          if (one[0] === other[0]) expect(at(from).x + at(from).width).toBeLessThanOrEqual(at(to).x);
        }
        for (const { id, parent } of boxes) if (parent !== null) expect(at(id).y).toBeGreaterThanOrEqual(at(parent).y + 26);
      }),
    );
  });

  it("lets no two boxes of one level overlap, and keeps what is inside inside", () => {
    fc.assert(
      fc.property(GRAPHS, ({ boxes, edges }) => {
        const { places } = layOut(boxes, edges);
        const at = (id: number): Place => places.get(id) ?? { x: NaN, y: NaN, width: NaN, height: NaN };
        for (const one of boxes) {
          const place = at(one.id);
          expect(Number.isFinite(place.x + place.y)).toBe(true);
          if (one.parent !== null) {
            const outer = at(one.parent);
            expect(place.x).toBeGreaterThanOrEqual(outer.x - 0.01);
            expect(place.y).toBeGreaterThan(outer.y);
            expect(place.x + place.width).toBeLessThanOrEqual(outer.x + outer.width + 0.01);
            expect(place.y + place.height).toBeLessThanOrEqual(outer.y + outer.height + 0.01);
          }
          for (const other of boxes) {
            if (other.id <= one.id || other.parent !== one.parent) continue;
            const next = at(other.id);
            const apart =
              place.x + place.width <= next.x + 0.01 || next.x + next.width <= place.x + 0.01 ||
              place.y + place.height <= next.y + 0.01 || next.y + next.height <= place.y + 0.01;
            expect(apart).toBe(true);
          }
        }
      }),
    );
  });

  it("stands every reader below what it reads", () => {
    fc.assert(
      fc.property(GRAPHS, ({ boxes, edges }) => {
        const { places } = layOut(boxes, edges);
        for (const { from, to } of edges) {
          if (boxes[from]?.parent !== boxes[to]?.parent || above(boxes, to).includes(from)) continue;
          const [one, other] = [places.get(from), places.get(to)];
          if (one && other) expect(other.y).toBeGreaterThan(one.y);
        }
      }),
    );
  });

  it("is the same for the same boxes, and leads a residual round what it skips", () => {
    const boxes = [0, 1, 2, 3].map((id) => box(id));
    const edges = [[0, 1], [1, 2], [2, 3], [0, 3]].map(([from = 0, to = 0]) => ({ from, to }));
    const { routes } = layOut(boxes, edges);
    expect(routes.map(({ skips }) => skips)).toEqual([false, false, false, true]);
    expect(layOut(boxes, edges)).toEqual(layOut(boxes, edges));
  });

  it("keeps lanes apart, each in the order in which it ran", () => {
    fc.assert(
      fc.property(GRAPHS, fc.array(fc.nat(2), { minLength: 40, maxLength: 40 }), ({ boxes, edges }, drawn) => {
        const laned = boxes.map((one) => ({ ...one, lane: drawn[one.id] ?? 0 }));
        const { places, lanes } = layOut(laned, edges);
        for (const one of laned.filter(({ parent }) => parent === null)) {
          const lane = lanes.find((each) => each.lane === one.lane);
          const place = places.get(one.id);
          expect(place && lane && place.x >= lane.x - 0.01 && place.x + place.width <= lane.x + lane.width + 0.01).toBe(true);
        }
        lanes.slice(1).forEach((lane, index) => {
          const before = lanes[index];
          expect(lane.x).toBeGreaterThan((before?.x ?? 0) + (before?.width ?? 0));
        });
      }),
    );
  });

  it("lets residuals of different outputs share no line", () => {
    const boxes = [0, 1, 2, 3, 4, 5].map((id) => box(id));
    const chain = [1, 2, 3, 4, 5].map((to) => ({ from: to - 1, to }));
    const { routes } = layOut(boxes, [...chain, { from: 0, to: 5 }, { from: 1, to: 4 }]);
    const [outer, inner] = routes.filter(({ skips }) => skips).map(({ path }) => Math.max(...drawn(path).map(([x]) => x)));
    expect(outer).toBeGreaterThan(inner ?? Infinity);
  });

  it("places every one of 150 boxes", () => {
    const boxes = Array.from({ length: 150 }, (_, id) => box(id));
    const edges = boxes.slice(1).flatMap(({ id }) => [{ from: id - 1, to: id }, { from: Math.max(0, id - 7), to: id }]);
    expect(layOut(boxes, edges).places.size).toBe(150);
  });
});
