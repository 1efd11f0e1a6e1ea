/* How far two pictures differ, and keeping a picture that is in the documentation. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

/** Share of pixels that may differ, and how far a colour is off before its pixel counts. */
const MOST_DIFFERING = 1 / 500;
const COLOUR_THRESHOLD = 0.1;

/** The share of pixels that differ; 1 where the sizes do. */
export function differing(drawn: Buffer, kept: Buffer): number {
  const [a, b] = [PNG.sync.read(drawn), PNG.sync.read(kept)];
  const { width, height } = a;
  if (width !== b.width || height !== b.height) return 1;
  const count = pixelmatch(a.data, b.data, undefined, width, height, { threshold: COLOUR_THRESHOLD });
  return count / (width * height);
}

/** Write a picture unless the one that is there looks the same. */
export function keep(drawn: Buffer, path: string): void {
  const same = existsSync(path) && differing(drawn, readFileSync(path)) <= MOST_DIFFERING;
  if (!same) writeFileSync(path, drawn);
}
