/* Boxes in layers: nothing overlaps, all that is read stands above, what is inside stays inside. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { type LaidBox, type LaidEdge, type Place, layOut } from "../../src/graph/layered";

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

describe("a layout", () => {
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
    const [outer, inner] = routes.filter(({ skips }) => skips).map(({ path }) => Number(/L([\d.]+) /.exec(path)?.[1]));
    expect(outer).toBeGreaterThan(inner ?? Infinity);
  });

  it("places every one of 150 boxes", () => {
    const boxes = Array.from({ length: 150 }, (_, id) => box(id));
    const edges = boxes.slice(1).flatMap(({ id }) => [{ from: id - 1, to: id }, { from: Math.max(0, id - 7), to: id }]);
    expect(layOut(boxes, edges).places.size).toBe(150);
  });
});
