import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { DiffPalette } from "../../src/graph/scene";
import { WHOLE, blockAt, filledHeight, namesOf, normRange, paintProfile, placeBeside, rowOfShare, shareOfRow } from "../../src/graph/profilepaint";

/** How many rows begin before each bin: never fewer than before. */
const BINS = fc
  .array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 60 })
  .map((steps) => steps.reduce<number[]>((sums, step) => [...sums, (sums[sums.length - 1] ?? 0) + step], [0]));

describe("the profile's places", () => {
  it("rise with the rows, and stay within the strip", () => {
    fc.assert(
      fc.property(BINS, (bins) => {
        const total = bins[bins.length - 1] ?? 0;
        const shares = Array.from({ length: total + 1 }, (_, index) => shareOfRow(index, bins));
        expect(shares.every((share) => share >= 0 && share <= 1)).toBe(true);
        expect(shares).toEqual([...shares].sort((a, b) => a - b));
      }),
    );
  });

  it("lead back to the row they came from", () => {
    fc.assert(
      fc.property(BINS, fc.double({ min: 0, max: 1, noNaN: true }), (bins, share) => {
        const there = rowOfShare(share, bins);
        const total = bins[bins.length - 1] ?? 0;
        expect(there).toBeGreaterThanOrEqual(0);
        expect(there).toBeLessThanOrEqual(total);
        expect(rowOfShare(shareOfRow(there, bins), bins)).toBeCloseTo(there, 6);
      }),
    );
    expect(shareOfRow(3, [])).toBe(0);
    expect(rowOfShare(0.5, [])).toBe(0);
  });
});

/** A context that remembers its texts; each letter is 6 pixels wide. */
function listening(): { context: CanvasRenderingContext2D; texts: [string, number][] } {
  const texts: [string, number][] = [];
  const known: Record<string, unknown> = {
    fillText: (text: string, x: number) => void texts.push([text, x]),
    measureText: (text: string) => ({ width: text.length * 6 }),
  };
  const context = new Proxy(known, { get: (target, name: string) => target[name] ?? (() => undefined), set: () => true });
  return { context: context as unknown as CanvasRenderingContext2D, texts };
}

describe("the fill of a module", () => {
  it("is as high as the share that differs, seen where that is one of a thousand, and all where it is not known", () => {
    expect(filledHeight(0.5, 16)).toBe(8);
    expect(filledHeight(4 / 1038, 16)).toBe(3);
    expect(filledHeight(1, 16)).toBe(16);
    expect(filledHeight(null, 16)).toBe(16);
  });
});

describe("the names of passes", () => {
  const starts = [["forward", 0], ["backward", 40], ["forward", 44], ["optimizer", 46]] as const;
  const phases = starts.map(([name, bin]) => ({ name, bin }));
  const profile = { rows: 100, worst: Array.from({ length: 100 }, () => null), causes: [], heals: [], alone: [], phases, blocks: [], norms: [] };
  const paint = (height: number): [string, number][] => {
    const { context, texts } = listening();
    paintProfile(context, { profile, width: 500, height, ratio: 1, palette: {} as DiffPalette, recolour: "score", phase: (name) => name, span: WHOLE });
    return texts;
  };

  it("stand in the pass that they name, or not at all", () => {
    expect(paint(52)).toEqual([["forward", 4], ["optimizer", 234]]);
  });

  it("stand beside the flags of causes, and over them where those leave no room", () => {
    expect(placeBeside([1], 4, 100, 42)).toBe(8);
    expect(placeBeside([20, 40], 4, 100, 42)).toBe(47);
    expect(placeBeside([60], 4, 100, 42)).toBe(4);
    expect(placeBeside([10, 30, 50, 70, 90], 4, 100, 42)).toBeNull();
  });

  it("stand once: the block of the same name below bears none", () => {
    const { context, texts } = listening();
    const block = (row: number, title: string) => ({ lane: 0, row, until: row + 50, title, worst: null, share: null, overflow: null });
    const named = { ...profile, blocks: [block(0, "layers"), block(50, "optimizer")] };
    paintProfile(context, { profile: named, width: 500, height: 68, ratio: 1, palette: {} as DiffPalette, recolour: "score", phase: (name) => name, span: WHOLE });
    expect(texts.map(([text]) => text)).toEqual(["forward", "optimizer", "layers"]);
  });

  it("are left out of a low strip", () => {
    expect(paint(18)).toEqual([]);
  });
});

describe("the blocks of the icicle", () => {
  const block = (lane: number, row: number, until: number) => ({ lane, row, until, title: "", worst: null, share: null, overflow: null });
  const blocks = [block(0, 0, 50), block(0, 50, 100), block(1, 50, 60), block(1, 60, 100)];
  const profile = { rows: 100, worst: [null], causes: [], heals: [], alone: [], phases: [], blocks, norms: [] };

  it("are found by place and lane, and are the part of the strip that they fill", () => {
    expect(blockAt(profile, 68, 0.55, 20)).toEqual({ from: 0.5, to: 1 });
    expect(blockAt(profile, 68, 0.55, 40)).toEqual({ from: 0.5, to: 0.6 });
    expect(blockAt(profile, 68, 0.25, 40)).toBeNull();
  });

  it("leave the names of passes, the bars and a low strip to other clicks", () => {
    expect([blockAt(profile, 68, 0.5, 5), blockAt(profile, 68, 0.5, 66), blockAt(profile, 18, 0.5, 10)]).toEqual([null, null, null]);
  });

  it("are painted over the whole width once one fills the strip", () => {
    const { context, texts } = listening();
    const named = { ...profile, blocks: blocks.map((one, index) => ({ ...one, title: `m${index}` })) };
    const scene = { profile: named, width: 500, height: 68, ratio: 1, palette: {} as DiffPalette, recolour: "score" as const };
    paintProfile(context, { ...scene, phase: (name) => name, span: { from: 0.5, to: 1 } });
    expect(texts.map(([name, x]) => [name, Math.round(x)])).toEqual([["m1", 3], ["m2", 3], ["m3", 103]]);
  });
});

describe("the names of blocks", () => {
  it("are painted after every fill, bar and pole, and above a fill that leaves room", () => {
    const drawn: string[] = [];
    const middles: number[] = [];
    const known: Record<string, unknown> = {
      fillText: (text: string, _x: number, y: number) => void (drawn.push(text), middles.push(y)),
      fillRect: () => void drawn.push("rect"),
      measureText: (text: string) => ({ width: text.length * 6 }),
    };
    const context = new Proxy(known, { get: (target, name: string) => target[name] ?? (() => undefined), set: () => true });
    const block = (row: number, share: number) => ({ lane: 0, row, until: row + 50, title: `m${row}`, worst: 0.9, share, overflow: null });
    const profile = { rows: 100, worst: [0.9], causes: [0], heals: [], alone: [0], phases: [], blocks: [block(0, 0.5), block(50, 1)], norms: [] };
    const palette = { theme: "light" } as DiffPalette;
    paintProfile(context as unknown as CanvasRenderingContext2D, { profile, width: 500, height: 68, ratio: 1, palette, recolour: "score", phase: (name) => name, span: WHOLE });
    expect(drawn.filter((one) => one !== "rect")).toEqual(["m0", "m50"]);
    expect(drawn.lastIndexOf("rect")).toBeLessThan(drawn.indexOf("m0"));
    expect(middles[0]).toBeLessThan(middles[1] ?? 0);
  });
});

describe("the names of neighbours", () => {
  const shown = (titles: string[], rooms: number[]) =>
    namesOf(titles.map((title, index) => ({ title, room: rooms[index] ?? 0 })), (text) => text.length);

  it("give way in their list, never in their number, and all alike", () => {
    expect(shown(["downs.0", "downs.1", "downs.2"], [6, 5, 6])).toEqual(["do….0", "do….1", "do….2"]);
    expect(shown(["down.0", "attention"], [2, 5])).toEqual([null, "atte…"]);
    expect(shown(["layers.9", "layers.10"], [8, 8])).toEqual(["laye….9", "laye….10"]);
  });

  it("are not shortened for the sake of a block at the edge", () => {
    expect(shown(["attn", "attn", "attn"], [9, 9, 2])).toEqual(["attn", "attn", null]);
  });

  it("are shortened alike in any group, keep their beginning and fit their room", () => {
    const random = seeded(7);
    for (let round = 0; round < 300; round += 1) {
      const list = "decoder.blocks".slice(0, 1 + Math.floor(random() * 14));
      const titles = Array.from({ length: 1 + Math.floor(random() * 12) }, (_, at) => `${list}.${at}`);
      const rooms = titles.map(() => Math.floor(random() * 20));
      const names = shown(titles, rooms);
      const begins = names.map((name, at) => name?.slice(0, -`.${at}`.length).replace("…", "") ?? null);
      const kept = begins.filter((begin) => begin !== null).map((begin) => begin.length);
      expect(new Set(kept).size).toBeLessThanOrEqual(1);
      names.forEach((name, at) => {
        if (name === null) return;
        expect(name.length).toBeLessThanOrEqual(rooms[at] ?? 0);
        expect(name.endsWith(`.${at}`) && list.startsWith(begins[at] ?? "none")).toBe(true);
      });
    }
  });
});

/** Numbers from 0 to 1, the same in every run. */
function seeded(start: number): () => number {
  let state = start;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

describe("the norms of a single graph", () => {
  it("range over what is a number above zero", () => {
    expect(normRange([null, 0, 4, "nan", 0.5, "inf"])).toEqual([0.5, 4]);
    expect(normRange([null, "nan"])).toBeNull();
  });
});
