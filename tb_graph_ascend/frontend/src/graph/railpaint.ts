/* Draws the rails beside the rows: grey where all is well, red where a difference is carried on. */

import type { RailEdge } from "../api/types";
import type { DiffScene } from "./scene";
import { laneX, yOf } from "./grid";
import { endsOf, rowsWithDots, tieOf, trace } from "./railpaths";
import { namedColours } from "./namedlook";
import { differs, isNamed } from "./words";

/** Rails last, so that the ground of a row does not hide them. */
export function paintRails(
  context: CanvasRenderingContext2D,
  scene: DiffScene,
  first: number,
  last: number,
): void {
  const { pages, columns, rowHeight, selected } = scene;
  const edges = pages.rails(first, last);
  const place = selected === null ? -1 : pages.find(selected);
  const lit = new Set(scene.lit.map((end) => pages.standingFor(end)));
  context.save();
  context.beginPath();
  context.rect(columns.rails.x, 0, columns.rails.width, scene.height);
  context.clip();
  const looks = LOOKS.map((look) => ({ look, edges: [] as RailEdge[] }));
  for (const edge of edges) looks[lookOf(scene, edge, place, lit)]?.edges.push(edge);
  for (const { look, edges: alike } of looks) paintAlike(context, scene, look, alike);
  if (rowHeight >= 7) paintDots(context, scene, edges, first, last);
  context.restore();
}

/** How rails look, those over others last. */
const LOOKS = [
  { colour: "rail", thick: 1.5 },
  { colour: "railBad", thick: 1.5 },
  { colour: "flowIn", thick: 2.6 },
  { colour: "flowOut", thick: 2.6 },
  { colour: "hit", thick: 5 },
] as const;
type Look = (typeof LOOKS)[number];

function lookOf(scene: DiffScene, edge: RailEdge, selected: number, lit: ReadonlySet<number>): number {
  const tie = tieOf(edge, selected);
  if (tie === "other") {
    const maker = scene.pages.at(edge.producer);
    return maker !== undefined && differs(maker) && scene.comparison ? 1 : 0;
  }
  if (lit.has(tie === "producer" ? edge.producer : edge.consumer)) return 4;
  return tie === "producer" ? 2 : 3;
}

/** Rails of one look in two strokes, of those the dump tells and of those told by equal values: seen
 * from afar there are hundreds. */
function paintAlike(context: CanvasRenderingContext2D, scene: DiffScene, { colour, thick }: Look, edges: readonly RailEdge[]): void {
  const { palette, rowHeight, height } = scene;
  const far = 4 * height;
  const middle = (place: number): number =>
    Math.min(far, Math.max(-far, yOf(scene, place) + rowHeight / 2));
  context.strokeStyle = palette[colour];
  context.lineWidth = thick;
  for (const solid of [true, false]) {
    const alike = edges.filter(({ exact }) => solid === (exact || colour === "hit"));
    if (alike.length === 0) continue;
    context.setLineDash(solid ? [] : [3, 3]);
    context.beginPath();
    for (const edge of alike) trace(context, endsOf(edge, scene.columns, middle));
    context.stroke();
  }
  context.setLineDash([]);
}

function paintDots(
  context: CanvasRenderingContext2D,
  scene: DiffScene,
  edges: readonly RailEdge[],
  first: number,
  last: number,
): void {
  const { palette, rowHeight, columns } = scene;
  const x = laneX(columns, 0);
  for (const place of rowsWithDots(edges)) {
    if (place < first || place >= last) continue;
    const row = scene.pages.at(place);
    const named = row !== undefined && isNamed(row) && scene.comparison;
    context.fillStyle = named
      ? namedColours(row, palette).strong
      : row && differs(row) && scene.comparison
        ? palette.railBad
        : palette.muted;
    context.beginPath();
    context.arc(x, yOf(scene, place) + rowHeight / 2, named ? 4.5 : 2.6, 0, 2 * Math.PI);
    context.fill();
  }
}
