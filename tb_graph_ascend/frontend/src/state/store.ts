/* What the person has chosen: one record, all of it in the address bar. */

import { create } from "zustand";

import type { Node, Side } from "../api/types";
import type { Recolour } from "../graph/appearance";
import type { GraphSession } from "./session";

export const LEFT_TABS = ["divergences", "outline", "overflow", "unmatched", "mapping"] as const;
export const BOTTOM_TABS = ["values", "stack", "pictures", "across", "communication"] as const;
export type LeftTab = (typeof LEFT_TABS)[number];
export type BottomTab = (typeof BOTTOM_TABS)[number];
export type Dialog = "help" | "build" | null;

export interface FindingFilter {
  minScore: number;
  verdict: string;
  direction: string;
  kind: string;
  name: string;
  sort: "diagnosis" | "score" | "introduced" | "order" | "name";
}

export const NO_FILTER: FindingFilter = {
  minScore: 0,
  verdict: "",
  direction: "",
  kind: "",
  name: "",
  sort: "diagnosis",
};

export interface AppState {
  db: string | null;
  step: number | null;
  rank: number | null;
  microStep: number | null;
  selected: number | null;
  /** Whether the person chose a cell of the matrix (or came by a link), which shrinks it. */
  pairChosen: boolean;
  sync: boolean;
  recolour: Recolour;
  leftTab: LeftTab;
  bottomTab: BottomTab;
  query: string;
  regex: boolean;
  outlineSide: Side;
  filter: FindingFilter;
  picks: Record<Side, Node | null>;
  dialog: Dialog;
  /** One line for the live region and the toast. */
  notice: string | null;
  session: GraphSession | null;
  /** What could not be opened, with the way to try again. */
  failure: { error: unknown; retry: () => void } | null;
  /** Findings of all steps and ranks, or of the pair on screen. */
  allPairs: boolean;
  set: (change: Partial<AppState>) => void;
}

export const useApp = create<AppState>()((set) => ({
  db: null,
  step: null,
  rank: null,
  microStep: null,
  selected: null,
  pairChosen: false,
  sync: true,
  recolour: "score",
  leftTab: "divergences",
  bottomTab: "values",
  query: "",
  regex: false,
  outlineSide: "problem",
  filter: NO_FILTER,
  picks: { problem: null, benchmark: null },
  dialog: null,
  notice: null,
  session: null,
  failure: null,
  allPairs: true,
  set,
}));
