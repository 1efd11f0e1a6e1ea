/* One side of a row: chevron, title, number of the call; hatched where it stands alone, and the gap. */

import type { DiffRow, RowSide } from "../api/types";
import type { DiffPalette, DiffScene } from "./scene";
import { type Column, TEXT_ROW, textSize } from "./grid";
import { measure, shorten } from "./textwidth";
import { asidesOf, isNamed, markOf, titleOf } from "./words";

const EDGE = 3;

export function paintSide(
  context: CanvasRenderingContext2D,
  scene: DiffScene,
  row: DiffRow,
  side: RowSide | null,
  column: Column,
  y: number,
): void {
  const { rowHeight } = scene;
  if (!side) paintGap(context, scene, row, column, y);
  else if (row.word === "only_problem" || row.word === "only_benchmark") {
    context.fillStyle = hatch(context, scene.palette);
    context.fillRect(column.x + EDGE, y + 1, column.width - EDGE, rowHeight - 1);
  }
  if (side && rowHeight >= TEXT_ROW) paintTitle(context, scene, row, side, column, y);
}

function paintGap(
  context: CanvasRenderingContext2D,
  scene: DiffScene,
  row: DiffRow,
  column: Column,
  y: number,
): void {
  const { palette, rowHeight, texts } = scene;
  const middle = y + Math.round(rowHeight / 2) + 0.5;
  const left = column.x + 12 + row.depth * scene.columns.indent;
  context.strokeStyle = palette.muted;
  context.globalAlpha = 0.6;
  context.setLineDash([2, 4]);
  context.lineWidth = 1;
  context.beginPath();
  const shown = rowHeight >= TEXT_ROW;
  const font = `italic 11.5px ${palette.font}`;
  context.font = font;
  const from = shown ? left + measure(context, font, texts.gap) + 8 : left;
  context.moveTo(from, middle);
  context.lineTo(column.x + column.width - 12, middle);
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
  if (!shown) return;
  context.fillStyle = palette.muted;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(texts.gap, left, middle + 0.5);
}

function paintTitle(
  context: CanvasRenderingContext2D,
  scene: DiffScene,
  row: DiffRow,
  side: RowSide,
  column: Column,
  y: number,
): void {
  const { palette, rowHeight, texts } = scene;
  const middle = y + rowHeight / 2 + 0.5;
  let x = column.x + 14 + row.depth * scene.columns.indent;
  const end = column.x + column.width - 10;
  if (row.children > 0 || row.fold !== 0) paintChevron(context, scene, row, x, middle);
  x += row.fold > 0 ? 18 : 14;
  const bold = row.kind !== "api" || row.fold !== 0 || isNamed(row);
  const font = `${bold ? 600 : 400} ${textSize(rowHeight, 0.62, 12.5)}px ${palette.font}`;
  const title = row.kind === "collection" ? texts.calls(side.calls) : titleOf(row, side);
  const mark = markOf(row, side);
  const kept = mark === "" ? 0 : measureAside(context, palette.font, mark) + 6;
  context.font = font;
  const shown = shorten(context, font, title, Math.max(20, end - x - kept));
  const width = measure(context, font, shown);
  if (isHit(scene, side)) {
    context.fillStyle = palette.hit;
    context.globalAlpha = 0.28;
    context.fillRect(x - 3, y + 3, width + 6, rowHeight - 6);
    context.globalAlpha = 1;
  }
  context.font = font;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillStyle = palette.ink;
  context.fillText(shown, x, middle);
  paintAside(context, scene, row, side, { x: x + width + 6, end, middle });
}

function paintAside(
  context: CanvasRenderingContext2D,
  { palette, recolour, texts }: DiffScene,
  row: DiffRow,
  side: RowSide,
  { x, end, middle }: { x: number; end: number; middle: number },
): void {
  const font = `11.5px ${palette.font}`;
  context.font = font;
  const asides = asidesOf(row, side, texts, recolour).filter(Boolean);
  const mark = markOf(row, side);
  const words = asides.find((text) => measure(context, font, text) <= end - x) ?? (mark === "" ? (asides[asides.length - 1] ?? "") : mark);
  if (words === "" || (mark === "" && end - x < 16)) return;
  context.fillStyle = palette.muted;
  context.fillText(words === mark ? words : shorten(context, font, words, end - x), x, middle);
}

function measureAside(context: CanvasRenderingContext2D, family: string, text: string): number {
  const font = `11.5px ${family}`;
  context.font = font;
  return measure(context, font, text);
}

function paintChevron(
  context: CanvasRenderingContext2D,
  { palette }: DiffScene,
  row: DiffRow,
  x: number,
  middle: number,
): void {
  context.strokeStyle = palette.muted;
  context.lineWidth = 1.6;
  context.lineJoin = "round";
  context.beginPath();
  if (row.open) {
    context.moveTo(x, middle - 2);
    context.lineTo(x + 4, middle + 2);
    context.lineTo(x + 8, middle - 2);
  } else {
    context.moveTo(x + 2, middle - 4);
    context.lineTo(x + 6, middle);
    context.lineTo(x + 2, middle + 4);
  }
  context.stroke();
  if (row.fold > 0) {
    context.beginPath();
    context.moveTo(x + 7, middle - 4);
    context.lineTo(x + 11, middle);
    context.lineTo(x + 7, middle + 4);
    context.stroke();
  }
}

function isHit(scene: DiffScene, side: RowSide): boolean {
  return scene.picked.includes(side.id) || scene.hit(side.id);
}

const hatches = new Map<string, CanvasPattern>();

function hatch(context: CanvasRenderingContext2D, palette: DiffPalette): CanvasPattern {
  const known = hatches.get(palette.hatch);
  if (known) return known;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const lines = tile.getContext("2d");
  if (!lines) throw new Error("this browser gives no 2D canvas; use a current Chromium or Firefox");
  lines.strokeStyle = palette.hatch;
  lines.lineWidth = 1.2;
  for (const shift of [-8, 0, 8]) {
    lines.moveTo(shift, 8);
    lines.lineTo(shift + 8, 0);
  }
  lines.stroke();
  const pattern = context.createPattern(tile, "repeat");
  if (!pattern) throw new Error("the hatch of unmatched rows could not be made");
  hatches.set(palette.hatch, pattern);
  return pattern;
}
