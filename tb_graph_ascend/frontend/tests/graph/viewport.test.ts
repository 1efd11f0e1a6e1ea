/* Zoom, pan and fit. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { confine, fit, isComfortable, panBy, reveal, zoomAt } from "../../src/graph/viewport";

const size = { width: 600, height: 400 };
const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });

describe("viewport", () => {
  it("keeps the point under the pointer while zooming", () => {
    fc.assert(
      fc.property(number(0.1, 2), number(0.5, 2), number(0, 600), number(0, 400), (scale, factor, px, py) => {
        const view = { scale, x: 10, y: -20 };
        const after = zoomAt(view, factor, px, py);
        expect(after.x + px / after.scale).toBeCloseTo(view.x + px / view.scale, 6);
        expect(after.y + py / after.scale).toBeCloseTo(view.y + py / view.scale, 6);
      }),
    );
  });

  it("fits what it promises to fit", () => {
    fc.assert(
      fc.property(number(10, 50_000), number(10, 50_000), (width, height) => {
        const rect = { x: 5, y: 7, width, height };
        const view = fit(rect, size);
        expect(view.x).toBeLessThanOrEqual(rect.x);
        expect(view.y).toBeLessThanOrEqual(rect.y);
        expect(view.x + size.width / view.scale).toBeGreaterThanOrEqual(rect.x + width - 1e-6);
        expect(view.y + size.height / view.scale).toBeGreaterThanOrEqual(rect.y + height - 1e-6);
      }),
    );
  });

  it("pans by pixels at any scale", () => {
    expect(panBy({ scale: 0.5, x: 0, y: 0 }, 10, -20)).toEqual({ scale: 0.5, x: 20, y: -40 });
  });

  it("never loses the content", () => {
    const content = { x: 0, y: 0, width: 300, height: 2000 };
    const view = confine({ scale: 1, x: 9000, y: -9000 }, content, size);
    expect(view.x).toBeLessThan(content.width);
    expect(view.y + size.height).toBeGreaterThan(0);
  });

  it("reveals a node so that it is comfortable", () => {
    const content = { x: 0, y: 0, width: 5000, height: 20_000 };
    const rect = { x: 4000, y: 9000, width: 236, height: 30 };
    const view = reveal({ scale: 0.1, x: 0, y: 0 }, rect, content, size);
    expect(isComfortable(view, rect, size)).toBe(true);
  });
});
