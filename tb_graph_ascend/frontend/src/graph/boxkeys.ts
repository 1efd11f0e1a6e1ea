/* Where arrow keys lead among boxes: to the nearest in that direction. */

import type { GraphBox, ModuleGraph } from "../api/types";
import type { Place } from "./boxroutes";
import type { Layout } from "./layered";

const STEPS: Partial<Record<string, readonly [number, number]>> = {
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
};
/** What lies across the direction counts so many times. */
const ASIDE = 2;

/** The box that a key leads to; the first where none is selected, null for other keys. */
export function boxAt(
  { graph, layout }: { graph: ModuleGraph; layout: Layout },
  from: number | null,
  key: string,
): GraphBox | null {
  const { boxes } = graph;
  if (key === "Home") return boxes[0] ?? null;
  if (key === "End") return boxes[boxes.length - 1] ?? null;
  const step = STEPS[key];
  if (!step) return null;
  const here = from === null ? undefined : layout.places.get(from);
  if (!here) return boxes[0] ?? null;
  const [x, y] = centreOf(here);
  let best: GraphBox | null = null;
  let least = Infinity;
  for (const box of boxes) {
    const place = layout.places.get(box.place);
    if (!place || box.place === from) continue;
    const [dx, dy] = [centreOf(place)[0] - x, centreOf(place)[1] - y];
    const along = dx * step[0] + dy * step[1];
    const aside = Math.abs(dx * step[1]) + Math.abs(dy * step[0]);
    const far = along + ASIDE * aside;
    if (along > 1 && far < least) [best, least] = [box, far];
  }
  return best;
}

function centreOf({ x, y, width, height }: Place): [number, number] {
  return [x + width / 2, y + height / 2];
}
