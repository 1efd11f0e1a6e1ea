/* How a row looks as a box: its text, size, fill and ink. */

import type { DiffRow, GraphBox, GraphEdge, GraphInput } from "../api/types";
import { OVERFLOW_SCORE, type Recolour } from "./appearance";
import { marked } from "./called";
import { type RampTheme, inkOn, rampColor } from "./ramp";
import { drawnWidth } from "./textwidth";
import { SHOWN, insideScore, isNamedItself, scoreText, shownOverflow, shownScore, titleOf } from "./words";

export const BOX_FONT = 12.5;
export const LINE_FONT = 10.5;
const MIN_WIDTH = 72;
const MAX_WIDTH = 320;
/** Left and right of the text of a box. */
const MARGIN = 10;
/** Where a title begins behind a chevron. */
const BEHIND_CHEVRON = 22;
/** Between a title and the class behind it. */
export const GAP = 6;
/** The height of a line below the title. */
export const LINE = 14;
/** Letters of a class that still tell what it is. */
const LEAST_TYPE = 5;

/** Whether one run alone has what a row stands for. */
function isAlone({ problem, benchmark }: DiffRow): boolean {
  return problem === null || benchmark === null;
}

export interface BoxText {
  title: string;
  /** Class of a module, and what it holds so many times. */
  type: string;
  /** Scores of a comparison, what comes out of a single graph's call. */
  line: string;
  /** Shapes of a module's own parameters, in a single graph. */
  weights: string;
}

/** The lanes of a graph from left to right. */
export const LANES = ["forward", "backward", "after"] as const satisfies readonly GraphBox["lane"][];

/** What boxes say that is not in the dump, in the reader's language. */
export interface BoxWords {
  comparison: boolean;
  calls: (count: number) => string;
  unrecorded: string;
  /** Of what stands for repeats: whose output it shows. */
  last: (output: string) => string;
  weights: (shapes: string) => string;
  /** Of what one run alone calls: which. */
  alone: (side: "problem" | "benchmark") => string;
}

export function boxText(box: GraphBox, words: BoxWords): BoxText {
  const { row } = box;
  const side = row.problem ?? row.benchmark;
  const line = lineOf(box, words);
  if (row.kind === "collection") {
    const calls = words.calls(side?.calls ?? row.children);
    const title = side?.title === "" || !side ? calls : side.title;
    return { title, type: "", line: [calls, line].filter(Boolean).join(" · "), weights: "" };
  }
  const call = side?.call == null || row.fold !== 0 ? "" : ` #${side.call}`;
  const count = row.fold > 0 ? ` × ${row.fold}` : "";
  const title = side ? `${titleOf(row, side)}${call}${count}` : "";
  const weights = words.comparison ? "" : [...box.weights].sort((a, b) => b.length - a.length).map((shape) => shape.join("×") || "1").join(", ");
  return { title: marked(title, row.direction === "backward"), type: typeOf(box, words), line, weights: weights && words.weights(weights) };
}

/** `Sequential · 3 × Mixer`; of a call only which run alone makes it. */
function typeOf({ row, repeats }: GraphBox, { comparison, alone }: BoxWords): string {
  const side = row.problem ?? row.benchmark;
  if (!side) return "";
  if (row.kind === "api") return comparison && isAlone(row) ? alone(row.problem === null ? "benchmark" : "problem") : "";
  return [side.detail, repeats ? `${repeats.count} × ${repeats.type_name}` : ""].filter(Boolean).join(" · ");
}

/** What the run is fed, by the name that its reader has for it. */
export function inputText({ value, tensor }: GraphInput): BoxText {
  return { title: value, type: "", line: outputText(tensor), weights: "" };
}

function lineOf({ row, output, unrecorded }: GraphBox, { comparison, unrecorded: noValues, last }: BoxWords): string {
  if (unrecorded) return [noValues, shapeText(output)].filter(Boolean).join(" · ");
  if (comparison) return scoresText(row);
  const text = outputText(output);
  return row.fold === 0 || text === "" ? text : last(text);
}

/** `layers.1, layers.3 4×8`: which of several repeats an edge leaves, and what passes. */
export function leavesText(leaves: GraphEdge["leaves"]): string {
  if (leaves === null) return "";
  const { names, count, output } = leaves;
  const listed = count > names.length ? `${names.join(", ")}, … (${count})` : names.join(", ");
  return [listed, shapeText(output)].filter(Boolean).join(" ");
}

/** `4×8×16`; empty where no shape is known. */
export function shapeText(output: GraphBox["output"]): string {
  return outputText(output && { shape: output.shape, dtype: null, norm: null });
}

function scoresText(row: DiffRow): string {
  if (row.score === null && row.input_score === null) return "";
  const inside = insideScore(row);
  const both = `${scoreText(row.input_score) || "–"} → ${scoreText(row.score) || "–"}`;
  return inside === null ? both : `${both} (${scoreText(inside)})`;
}

/** `4×8×16 · float32 · 24.2`, as far as it was recorded. */
export function outputText(output: GraphBox["output"]): string {
  if (!output) return "";
  const shape = output.shape === null ? "" : output.shape.join("×") || "scalar";
  const norm = typeof output.norm === "number" ? `‖${Number(output.norm.toPrecision(3))}‖` : (output.norm ?? "");
  return [shape, output.dtype ?? "", norm].filter(Boolean).join(" · ");
}

/** Where the title of a box begins. */
export function titleStart(opens: boolean): number {
  return opens ? BEHIND_CHEVRON : MARGIN;
}

/** The size of what the run is fed, whose ends are round. */
export function inputSize(text: BoxText): { width: number; height: number } {
  const { width, height } = boxSize(text, false);
  return { width: width + MARGIN, height };
}

const titleWidth = (title: string): number => drawnWidth(title, BOX_FONT, 600);
const smallWidth = (text: string): number => drawnWidth(text, LINE_FONT, 400);

/** The size of a box, and how far its title and class reach into it. */
export function boxSize({ title, type, line, weights }: BoxText, opens: boolean): { width: number; height: number; title: number } {
  const head = titleStart(opens) + titleWidth(title) + (type === "" ? 0 : GAP + smallWidth(type));
  const wanted = MARGIN + Math.max(head, MARGIN + smallWidth(line), MARGIN + smallWidth(weights));
  const lines = [line, weights].filter(Boolean).length;
  const width = Math.ceil(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, wanted)));
  return { width, height: 28 + LINE * lines, title: Math.min(head, width - MARGIN) };
}

/** As much of a class as a box has room for beside its title: its beginning; nothing where that tells nothing. */
export function fittedType({ title, type }: BoxText, width: number, opens: boolean): string {
  const room = width - titleStart(opens) - titleWidth(title) - GAP - MARGIN;
  if (smallWidth(type) <= room) return type;
  const letters = Array.from(type);
  while (letters.length > 0 && smallWidth(`${letters.join("")}…`) > room) letters.pop();
  return letters.length < LEAST_TYPE - 1 ? "" : `${letters.join("")}…`;
}

/** At most as much of a title as its box has room for. */
export function fitted(title: string, width: number, opens: boolean): string {
  const room = width - titleStart(opens) - MARGIN;
  if (titleWidth(title) <= room) return title;
  const end = Array.from(title);
  while (end.length > 1 && titleWidth(`…${end.join("")}`) > room) end.shift();
  return `…${end.join("")}`;
}

/** Fill and ink; null where the box is healthy and keeps the page's own, or hatched: its text has to be read on that. */
export function boxColours(row: DiffRow, recolour: Recolour, theme: RampTheme): { fill: string; ink: string } | null {
  if (isNamedItself(row) && isAlone(row)) return null;
  const level = shownOverflow(row);
  const heat = recolour === "overflow" ? (level === null ? null : OVERFLOW_SCORE[level]) : shownScore(row);
  if (heat === null || heat < SHOWN) return null;
  return { fill: rampColor(heat, theme), ink: inkOn(heat, theme) };
}
