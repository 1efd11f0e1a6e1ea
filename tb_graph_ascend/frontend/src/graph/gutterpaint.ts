/* The gutter between the sides: how far inputs and outputs differ, and what it means in a word. */

import type { DiffRow } from "../api/types";
import { OVERFLOW_SCORE } from "./appearance";
import { outputText } from "./boxlook";
import type { DiffScene, DiffTexts } from "./scene";
import { type Column, TEXT_ROW, textSize } from "./grid";
import { inkOn, rampColor } from "./ramp";
import { measure, shorten } from "./textwidth";
import { namedColours } from "./namedlook";
import { SHOWN, differs, insideScore, isNamed, isNamedItself, scoreText, shownOverflow } from "./words";

/** In, out, and the word; an open module leaves it to what is inside. */
export function paintGutter(context: CanvasRenderingContext2D, scene: DiffScene, row: DiffRow, y: number): void {
  const { columns, rowHeight, palette } = scene;
  if (rowHeight < TEXT_ROW) return;
  const middle = y + rowHeight / 2 + 0.5;
  const font = `${textSize(rowHeight, 0.58, 11.5)}px ${palette.font}`;
  context.textBaseline = "middle";
  if (row.fold >= 0 && row.depth > 0) {
    paintChip(context, scene, row.input_score, columns.input, middle, font);
    paintChip(context, scene, row.score ?? null, columns.output, middle, font);
    const inside = insideScore(row);
    if (inside !== null) paintChip(context, scene, inside, columns.worst, middle, font);
  }
  if (!row.open || row.fold !== 0 || row.depth === 0) paintWord(context, scene, row, y, middle);
}

/** A score on a ground of its colour; one that reads 0.00 is no news and has none. */
function paintChip(
  context: CanvasRenderingContext2D,
  { palette, rowHeight }: DiffScene,
  score: number | null,
  column: Column,
  middle: number,
  font: string,
): void {
  const filled = score !== null && score >= SHOWN;
  context.font = font;
  context.textAlign = "center";
  if (filled) {
    const height = Math.min(17, rowHeight - 4);
    context.fillStyle = rampColor(score, palette.theme);
    context.beginPath();
    context.roundRect(column.x + 2, middle - height / 2 - 0.5, column.width - 4, height, 3);
    context.fill();
  }
  context.fillStyle = filled ? inkOn(score, palette.theme) : palette.muted;
  context.fillText(score === null ? "–" : scoreText(score), column.x + column.width / 2, middle);
}

function paintWord(
  context: CanvasRenderingContext2D,
  scene: DiffScene,
  row: DiffRow,
  y: number,
  middle: number,
): void {
  const { columns, palette, texts, rowHeight } = scene;
  const { x, width } = columns.word;
  const named = isNamed(row);
  const { strong, ink } = namedColours(row, palette);
  const text = wordOf(row, texts);
  if (text === "") return;
  const room = isNamedItself(row) ? width - 12 : width;
  const font = fitting(context, palette.font, named ? 700 : 400, text, room);
  context.font = font;
  context.textAlign = "left";
  if (isNamedItself(row)) {
    const pill = Math.min(width, measure(context, font, text) + 16);
    context.fillStyle = strong;
    context.beginPath();
    context.roundRect(x, y + 3, pill, rowHeight - 6, 4);
    context.fill();
    context.fillStyle = ink;
    context.fillText(shorten(context, font, text, width - 12), x + 8, middle);
    return;
  }
  context.fillStyle = named ? strong : differs(row) ? palette.ink : palette.muted;
  context.fillText(shorten(context, font, text, width), x, middle);
}

/** Sizes of a word, of which the first is taken that shows it whole. */
const WORD_SIZES = [11.5, 10.5, 9.5];

function fitting(context: CanvasRenderingContext2D, family: string, weight: number, text: string, room: number): string {
  const fonts = WORD_SIZES.map((size) => `${weight} ${size}px ${family}`);
  const fits = fonts.find((font) => {
    context.font = font;
    return measure(context, font, text) <= room;
  });
  return fits ?? fonts[fonts.length - 1] ?? "";
}

/** What the word of a row reads; where both sides agree, or nearly so, but do not both have all, it says so. */
export function wordOf(row: DiffRow, texts: DiffTexts): string {
  if (isNamed(row) && row.inside) return row.word === "heals" ? texts.healsInside : texts.inside;
  const count = row.alone_below * Math.max(1, Math.abs(row.fold));
  const alike = row.word === "agrees" || row.word === "close";
  return alike && count > 0 ? texts.unmatched(count) : texts.word[row.word];
}

/** A single graph has no gutter; what there is to say stands at the right end. */
export function paintAlone(context: CanvasRenderingContext2D, scene: DiffScene, row: DiffRow, y: number): void {
  if (scene.rowHeight < TEXT_ROW) return;
  paintOutput(context, scene, row, y);
  const level = shownOverflow(row);
  if (level === null) return;
  const colour = OVERFLOW_SCORE[level];
  context.fillStyle = rampColor(colour, scene.palette.theme);
  context.fillRect(scene.width - 72, y + 4, 60, scene.rowHeight - 8);
  context.fillStyle = inkOn(colour, scene.palette.theme);
  context.font = `11px ${scene.palette.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(scene.texts.level[level], scene.width - 42, y + scene.rowHeight / 2);
}

/** What a call of a single graph puts out, left of its overflow. */
function paintOutput(context: CanvasRenderingContext2D, { palette, rowHeight, width, texts }: DiffScene, row: DiffRow, y: number): void {
  const output = outputText(row.problem?.output ?? null);
  if (output === "" || row.fold < 0) return;
  const text = row.fold === 0 ? output : texts.last(output);
  context.font = `11.5px ${palette.font}`;
  context.fillStyle = palette.muted;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(text, width - 84, y + rowHeight / 2 + 0.5);
}
