/* Draws the rails beside the rows: grey where all is well, red where a difference is carried on. */

import type { RailEdge } from "../api/rows";
import type { DiffScene } from "./scene";
import { laneX, yOf } from "./grid";
import { type Tie, endsOf, rowsWithDots, tieOf, trace } from "./railpaths";
import { differs } from "./words";

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
  for (const style of ["other", "producer", "consumer"] as const) {
    for (const edge of edges) {
      if (tieOf(edge, place) !== style) continue;
      const other = style === "producer" ? edge.producer : edge.consumer;
      paintRail(context, scene, edge, style, style !== "other" && lit.has(other));
    }
  }
  if (rowHeight >= 7) paintDots(context, scene, edges, first, last);
  context.restore();
}

function paintRail(
  context: CanvasRenderingContext2D,
  scene: DiffScene,
  edge: RailEdge,
  style: Tie,
  lit: boolean,
): void {
  const { palette, rowHeight, height } = scene;
  const far = 4 * height;
  const middle = (place: number): number =>
    Math.min(far, Math.max(-far, yOf(scene, place) + rowHeight / 2));
  const maker = scene.pages.at(edge.producer);
  const bad = maker !== undefined && differs(maker) && scene.comparison;
  const colours = { other: bad ? palette.railBad : palette.rail, producer: palette.flowIn, consumer: palette.flowOut };
  context.strokeStyle = lit ? palette.hit : colours[style];
  context.lineWidth = lit ? 5 : style === "other" ? 1.5 : 2.6;
  context.setLineDash(edge.exact || lit ? [] : [3, 3]);
  context.beginPath();
  trace(context, endsOf(edge, scene.columns, middle));
  context.stroke();
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
    const begins = row?.word === "begins" && scene.comparison;
    context.fillStyle = begins
      ? palette.bad
      : row && differs(row) && scene.comparison
        ? palette.railBad
        : palette.muted;
    context.beginPath();
    context.arc(x, yOf(scene, place) + rowHeight / 2, begins ? 4.5 : 2.6, 0, 2 * Math.PI);
    context.fill();
  }
}
