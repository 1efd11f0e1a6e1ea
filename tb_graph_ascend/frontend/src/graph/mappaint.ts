/* Draws what a mapping by hand needs: the grip of rows that can be dragged, the row that is held, the
 * rows that it fits and the one it is over – by shape as well as by colour. */

import { type Column, TEXT_ROW, yOf } from "./grid";
import { dropOn, heldOf, otherSide } from "./mapdrag";
import type { DiffScene, MapScene } from "./scene";

const GRIP = { columns: 2, rows: 3, gap: 4, size: 2 };
const MARK = 16;

/** Over the rows `first` up to `last`, the last exclusive. */
export function paintMapping(context: CanvasRenderingContext2D, scene: DiffScene, first: number, last: number): void {
  const { mapping, rowHeight } = scene;
  if (rowHeight < TEXT_ROW) return;
  if (!mapping) paintGrip(context, scene);
  else {
    context.save();
    for (let place = first; place < last; place += 1) paintPlace(context, scene, mapping, place);
    context.restore();
  }
}

function paintGrip(context: CanvasRenderingContext2D, scene: DiffScene): void {
  const { hovered, pages, palette, columns, rowHeight } = scene;
  const row = scene.mappable && hovered >= 0 ? pages.at(hovered) : undefined;
  const held = row && heldOf(row);
  if (!held || columns[held.side].width === 0) return;
  const { x, width } = columns[held.side];
  const y = yOf(scene, hovered) + rowHeight / 2;
  context.fillStyle = palette.ink;
  for (let dot = 0; dot < GRIP.columns * GRIP.rows; dot += 1) {
    const [column, line] = [dot % GRIP.columns, Math.floor(dot / GRIP.columns)];
    context.fillRect(x + width - 16 + column * GRIP.gap, y - GRIP.gap - 1 + line * GRIP.gap, GRIP.size, GRIP.size);
  }
}

function paintPlace(context: CanvasRenderingContext2D, scene: DiffScene, mapping: MapScene, place: number): void {
  const row = scene.pages.at(place);
  if (!row) return;
  const { columns, palette } = scene;
  const { held } = mapping;
  const y = yOf(scene, place);
  if (row[held.side]?.id === held.id) {
    paintFrame(context, scene, columns[held.side], y, [5, 3], 2);
    paintMark(context, scene, columns[held.side], y, "↔");
    return;
  }
  const column = targetColumn(scene, mapping);
  const fits = dropOn(held, row).fits;
  const over = mapping.over === place;
  if (fits) {
    paintFrame(context, scene, column, y, over ? [] : [2, 3], over ? 3 : 1.5);
    paintMark(context, scene, column, y, over ? "✓" : "+");
  } else if (over) {
    context.globalAlpha = 0.55;
    context.fillStyle = palette.canvas;
    context.fillRect(column.x, y, column.width, scene.rowHeight);
    context.globalAlpha = 1;
    paintMark(context, scene, column, y, "✕");
  }
}

/** The other side's column; where the benchmark is folded, that of the rows. */
function targetColumn({ columns }: DiffScene, { held }: MapScene): Column {
  const column = columns[otherSide(held.side)];
  return column.width > 0 ? column : columns.problem;
}

function paintFrame(
  context: CanvasRenderingContext2D,
  { palette, rowHeight }: DiffScene,
  { x, width }: Column,
  y: number,
  dash: number[],
  thick: number,
): void {
  context.strokeStyle = palette.accent;
  context.lineWidth = thick;
  context.setLineDash(dash);
  context.strokeRect(x + 3, y + 1.5, width - 6, rowHeight - 3);
  context.setLineDash([]);
}

/** A sign at the right end of the row, on a ground of its own. */
function paintMark(
  context: CanvasRenderingContext2D,
  { palette, rowHeight }: DiffScene,
  { x, width }: Column,
  y: number,
  sign: string,
): void {
  const left = x + width - MARK - 8;
  context.fillStyle = sign === "✕" ? palette.bad : palette.accent;
  context.beginPath();
  context.roundRect(left, y + (rowHeight - MARK) / 2, MARK, MARK, 4);
  context.fill();
  context.fillStyle = palette.canvas;
  context.font = `700 12px ${palette.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(sign, left + MARK / 2, y + rowHeight / 2 + 0.5);
}
