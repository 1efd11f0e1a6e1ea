/* Draws the rows in view: rails, problem, gutter, benchmark; healthy rows stay quiet. */

import type { DiffRow } from "../api/types";
import { OVERFLOW_SCORE } from "./appearance";
import { TEXT_ROW, yOf } from "./grid";
import { paintAlone, paintGutter } from "./gutterpaint";
import { paintMapping } from "./mappaint";
import { paintRails } from "./railpaint";
import { rampColor } from "./ramp";
import type { DiffScene } from "./scene";
import { paintSide } from "./sidepaint";
import { namedColours } from "./namedlook";
import { differs, isNamedItself, shownOverflow, shownScore } from "./words";

const EDGE = 3;

/** Paint rows `first` up to `last`, the last exclusive. */
export function paintDiff(
  context: CanvasRenderingContext2D,
  scene: DiffScene,
  first: number,
  last: number,
): void {
  const { ratio, palette, width, height } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = palette.canvas;
  context.fillRect(0, 0, width, height);
  paintGutterGround(context, scene, height);
  for (let place = first; place < last; place += 1) {
    const row = scene.pages.at(place);
    const y = yOf(scene, place);
    if (row) paintRow(context, scene, row, place, y);
    else paintHole(context, scene, y);
  }
  paintRails(context, scene, first, last);
  paintMapping(context, scene, first, last);
  paintSticky(context, scene);
}

function paintGutterGround(context: CanvasRenderingContext2D, scene: DiffScene, height: number): void {
  const { columns, palette, comparison } = scene;
  context.fillStyle = palette.raised;
  context.fillRect(0, 0, columns.rails.width, height);
  if (!comparison) return;
  context.fillRect(columns.gutter.x, 0, columns.gutter.width, height);
  context.fillStyle = palette.line;
  for (const x of [columns.gutter.x, columns.benchmark.x - 1]) context.fillRect(x, 0, 1, height);
}

function paintRow(
  context: CanvasRenderingContext2D,
  scene: DiffScene,
  row: DiffRow,
  place: number,
  y: number,
): void {
  const { columns, palette, rowHeight } = scene;
  paintGround(context, scene, row, place, y);
  paintEdge(context, scene, row, y);
  const faint = scene.microStep !== null && row.micro_step !== scene.microStep && row.depth > 0;
  context.globalAlpha = faint ? 0.35 : 1;
  paintSide(context, scene, row, row.problem, columns.problem, y);
  if (scene.comparison) {
    if (columns.benchmark.width > 0) paintSide(context, scene, row, row.benchmark, columns.benchmark, y);
    paintGutter(context, scene, row, y);
  } else paintAlone(context, scene, row, y);
  context.globalAlpha = 1;
  if (rowHeight >= TEXT_ROW && row.depth <= 1 && row.fold === 0 && place > 0) {
    context.fillStyle = palette.line;
    context.globalAlpha = 0.5;
    context.fillRect(columns.problem.x, y, scene.width - columns.problem.x, 1);
    context.globalAlpha = 1;
  }
}

/** What is named is the one row with a ground of its own; else only pointer and selection have one. */
function paintGround(
  context: CanvasRenderingContext2D,
  scene: DiffScene,
  row: DiffRow,
  place: number,
  y: number,
): void {
  const { palette, rowHeight, width } = scene;
  const named = isNamedItself(row) && scene.recolour === "score";
  const colour = named
    ? namedColours(row, palette).soft
    : isSelected(scene, row)
      ? palette.current
      : scene.hovered === place
        ? palette.hover
        : null;
  if (colour !== null) {
    context.fillStyle = colour;
    context.fillRect(0, y, width, rowHeight);
  }
  if (isSelected(scene, row)) {
    context.strokeStyle = palette.accent;
    context.lineWidth = 1.5;
    context.strokeRect(1, y + 0.75, width - 2, rowHeight - 1.5);
  }
}

function isSelected({ selected }: DiffScene, row: DiffRow): boolean {
  return (
    selected !== null && row.fold === 0 && (row.problem?.id === selected || row.benchmark?.id === selected)
  );
}

function colourOf(scene: DiffScene, row: DiffRow): string | null {
  if (scene.recolour === "overflow") {
    const level = shownOverflow(row);
    return level === null ? null : rampColor(OVERFLOW_SCORE[level], scene.palette.theme);
  }
  if (!differs(row)) return null;
  return rampColor(Math.max(0.35, shownScore(row) ?? 0.35), scene.palette.theme);
}

/** A thin edge says that a row differs, however far one has zoomed out. */
function paintEdge(context: CanvasRenderingContext2D, scene: DiffScene, row: DiffRow, y: number): void {
  const { columns, rowHeight, palette } = scene;
  const colour = colourOf(scene, row);
  const named = isNamedItself(row) && scene.recolour === "score";
  const gap = rowHeight >= TEXT_ROW ? 1 : 0;
  if (colour !== null) {
    context.fillStyle = named ? namedColours(row, palette).strong : colour;
    const far = rowHeight < TEXT_ROW;
    const wide = far ? columns.problem.width * 0.4 : named ? 2 * EDGE : EDGE;
    context.fillRect(columns.problem.x, y + gap, wide, Math.max(1, rowHeight - 2 * gap));
  } else if (rowHeight < TEXT_ROW) paintFar(context, scene, row, y);
}

function paintFar(context: CanvasRenderingContext2D, scene: DiffScene, row: DiffRow, y: number): void {
  const { columns, palette, rowHeight } = scene;
  const thick = Math.max(1, rowHeight - 1);
  context.fillStyle = palette.line;
  const indent = Math.min(row.depth * columns.indent * 0.5, columns.problem.width / 3);
  for (const [side, column] of [
    [row.problem, columns.problem],
    [row.benchmark, columns.benchmark],
  ] as const) {
    if (side && column.width > 0) context.fillRect(column.x + indent + 6, y, column.width * 0.25, thick);
  }
}

function paintHole(context: CanvasRenderingContext2D, scene: DiffScene, y: number): void {
  const { columns, palette, rowHeight } = scene;
  context.fillStyle = palette.line;
  context.globalAlpha = 0.4;
  const height = Math.max(1, Math.min(6, rowHeight / 3));
  for (const { x, width } of [columns.problem, columns.benchmark]) {
    if (width > 0) context.fillRect(x + 24, y + (rowHeight - height) / 2, width * 0.3, height);
  }
  context.globalAlpha = 1;
}

/** The heads of open modules whose insides are in view. */
function paintSticky(context: CanvasRenderingContext2D, scene: DiffScene): void {
  const { sticky, rowHeight, palette, width } = scene;
  sticky.forEach(({ place, row }, index) => {
    const y = index * rowHeight;
    context.fillStyle = palette.raised;
    context.fillRect(0, y, width, rowHeight);
    paintRow(context, scene, row, place, y);
  });
  if (sticky.length === 0) return;
  context.fillStyle = palette.line;
  context.fillRect(0, sticky.length * rowHeight - 1, width, 1);
}
