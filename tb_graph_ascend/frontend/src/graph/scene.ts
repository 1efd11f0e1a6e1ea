/* What is painted: the rows, where they stand, and how they look – for all that draw a part of it. */

import type { DiffRow } from "../api/types";
import type { Recolour } from "./appearance";
import type { Columns } from "./grid";
import type { Held } from "./mapdrag";
import type { RampTheme } from "./ramp";
import type { RowPages } from "./rowpages";

/** Colours that follow the theme. */
export interface DiffPalette {
  theme: RampTheme;
  canvas: string;
  raised: string;
  hover: string;
  current: string;
  line: string;
  ink: string;
  muted: string;
  hatch: string;
  accent: string;
  hit: string;
  rail: string;
  railBad: string;
  flowIn: string;
  flowOut: string;
  bad: string;
  badSoft: string;
  badInk: string;
  /** Of what comes to the same result in another way: it is no alarm. */
  heals: string;
  healsSoft: string;
  healsInk: string;
  font: string;
}

/** The gutter's words and what collections are called, in the reader's language. */
export interface DiffTexts {
  word: Record<DiffRow["word"], string>;
  inside: string;
  healsInside: string;
  unmatched: (count: number) => string;
  calls: (count: number) => string;
  /** Of what stands for repeats: whose output it shows. */
  last: (output: string) => string;
  gap: string;
  level: Record<"medium" | "high" | "critical", string>;
  /** The levels with the word that says what they are of. */
  overflow: Record<"medium" | "high" | "critical", string>;
}

/** A mapping under way: what is held, and the row that it is dragged over. */
export interface MapScene {
  held: Held;
  over: number;
}

export interface DiffScene {
  pages: RowPages;
  columns: Columns;
  comparison: boolean;
  rowHeight: number;
  /** Top of the content in view. */
  top: number;
  width: number;
  height: number;
  ratio: number;
  palette: DiffPalette;
  texts: DiffTexts;
  recolour: Recolour;
  selected: number | null;
  hovered: number;
  /** Whether the row of a node is marked as a hit of the search. */
  hit: (id: number) => boolean;
  picked: readonly (number | null)[];
  mapping: MapScene | null;
  /** Rows of one side can be dragged on one of the other. */
  mappable: boolean;
  microStep: number | null;
  /** Other ends of the selected row's rails that are lit. */
  lit: readonly { id: number; side: "problem" | "benchmark" }[];
  /** Rows whose heads stay at the top. */
  sticky: readonly { place: number; row: DiffRow }[];
}
