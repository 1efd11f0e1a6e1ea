/* Bytes of the heat map: what they say, which colour they have, where a step stands. */
import { describe, expect, it } from "vitest";

import {
  ABSENT,
  BROKEN,
  type HeatColours,
  bytesOf,
  columnOf,
  factorOf,
  paletteOf,
  pixelsOf,
  valueOf,
  wordOf,
} from "../../src/graph/heatpaint";

const COLOURS: HeatColours = {
  low: [0, 0, 255],
  middle: [255, 255, 255],
  high: [255, 0, 0],
  absent: [1, 1, 1],
  broken: [0, 0, 0],
};
const rgb = (pixel = 0): number[] => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];

describe("the palette", () => {
  it("runs from low over the middle to high, opaque everywhere", () => {
    const palette = paletteOf(COLOURS, false);
    expect(rgb(palette[1])).toEqual([0, 0, 255]);
    expect(rgb(palette[254])).toEqual([255, 0, 0]);
    expect(Math.min(...rgb(palette[128]))).toBeGreaterThan(250);
    expect(rgb(palette[ABSENT])).toEqual([1, 1, 1]);
    expect(rgb(palette[BROKEN])).toEqual([0, 0, 0]);
    expect([...palette].every((pixel) => pixel >>> 24 === 255)).toBe(true);
  });

  it("has one side only where two runs are compared", () => {
    expect(rgb(paletteOf(COLOURS, true)[1])).toEqual([255, 255, 255]);
  });

  it("colours each cell by its byte", () => {
    const palette = paletteOf(COLOURS, false);
    expect([...pixelsOf(new Uint8Array([1, 254, 0]), palette)]).toEqual([palette[1], palette[254], palette[0]]);
  });
});

describe("a byte", () => {
  it("says octaves, or nothing", () => {
    expect(valueOf(1, false)).toBe(-4);
    expect(valueOf(254, false)).toBe(4);
    expect(valueOf(1, true)).toBe(-24);
    expect(valueOf(254, true)).toBe(2);
    expect(valueOf(ABSENT, false)).toBeNull();
    expect(valueOf(BROKEN, true)).toBeNull();
  });

  it("says at the ends of the scale that it may be more", () => {
    const words = [1, 2, 253, 254].map((byte) => wordOf(valueOf(byte, false) ?? NaN, false));
    expect(words).toEqual(["usualOrLess", "usual", "usual", "usualOrMore"]);
    expect([1, 253, 254].map((byte) => wordOf(valueOf(byte, true) ?? NaN, true))).toEqual(["apartAbout", "apartAbout", "apartOrMore"]);
  });

  it("says no more digits than it tells apart from the next byte", () => {
    expect([1, 128, 254].map((byte) => factorOf(valueOf(byte, false) ?? NaN))).toEqual(["0.063", "1", "16"]);
    expect([150, 254].map((byte) => factorOf(valueOf(byte, true) ?? NaN))).toEqual(["0.0024", "4"]);
  });

  it("travels as base64", () => {
    expect([...bytesOf(btoa("\u0000\u0080\u00ff"))]).toEqual([0, 128, 255]);
  });
});

describe("a step", () => {
  it("stands in the last column that begins at or before it", () => {
    expect([4, 5, 9, 10, 99].map((step) => columnOf([5, 10, 20], step))).toEqual([-1, 0, 0, 1, 2]);
    expect(columnOf([], 3)).toBe(-1);
  });
});
