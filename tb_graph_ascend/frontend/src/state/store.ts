/* What the person has chosen: one record, all of it in the address bar. */

import { create } from "zustand";

import type { Scope, TableQuery } from "../api/client";
import type { BuildWish, Node, Refusal, Side } from "../api/types";
import type { Recolour } from "../graph/appearance";
import type { GraphSession } from "./session";

export const LEFT_TABS = ["causes", "outline", "nodes", "overflow", "mapping"] as const;
export const BOTTOM_TABS = ["values", "trace", "stack", "pictures", "across", "communication"] as const;
export type LeftTab = (typeof LEFT_TABS)[number];
export type BottomTab = (typeof BOTTOM_TABS)[number];
export type Dialog = "help" | "build" | null;

/** How the nodes table is asked and ordered; its query is the text of the search box. */
export interface TableOrder {
  scope: Scope;
  sort: TableQuery["sort"];
  descending: boolean;
}

export const TABLE_ORDER: TableOrder = { scope: "pair", sort: "order", descending: false };

/** What a link named that is not there any more; nothing else is opened in its place. */
export type Gone =
  | { what: "database"; name: string }
  | { what: "pair"; step: number; rank: number };

/** A key of the notices, alone or with what fills it in; any other text is said as it is. */
export type Notice =
  | string
  | { code: string; facts: Record<string, string | number>; reason?: Refusal };

export interface AppState {
  db: string | null;
  step: number | null;
  rank: number | null;
  microStep: number | null;
  selected: number | null;
  recolour: Recolour;
  leftTab: LeftTab;
  bottomTab: BottomTab;
  /** The text of the search box: the query of the nodes table. */
  query: string;
  table: TableOrder;
  picks: Record<Side, Node | null>;
  dialog: Dialog;
  /** The build form starts what it is filled in with, once. */
  buildAtOnce: boolean;
  /** One line for the live region and the toast. */
  notice: Notice | null;
  session: GraphSession | null;
  /** What could not be opened, with the way to try again. */
  failure: { error: unknown; retry: () => void } | null;
  gone: Gone | null;
  /** Whether a switch is under way: until it is done, everything shown is of the place before. */
  busy: boolean;
  /** What the build form starts from; null for an empty one. */
  wish: BuildWish | null;
  set: (change: Partial<AppState>) => void;
}

export const useApp = create<AppState>()((set) => ({
  db: null,
  step: null,
  rank: null,
  microStep: null,
  selected: null,
  recolour: "score",
  leftTab: "causes",
  bottomTab: "values",
  query: "",
  table: TABLE_ORDER,
  picks: { problem: null, benchmark: null },
  dialog: null,
  buildAtOnce: false,
  notice: null,
  session: null,
  failure: null,
  gone: null,
  busy: false,
  wish: null,
  set,
}));
