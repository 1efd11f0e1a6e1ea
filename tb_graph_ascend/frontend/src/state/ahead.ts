/* What was asked for and is not there yet: the file, the step and rank, the node under way.
 *
 * Nothing of it is drawn. Keys and menus go on from what is ahead, not from what is still shown, and
 * a slow earlier request overwrites no later one. */

import { create } from "zustand";

import type { Node } from "../api/types";
import { useApp } from "./store";

export interface PairChoice {
  step: number | null;
  rank: number | null;
}

export interface Ahead {
  /** Counts openings, so that a slow earlier one cannot overwrite a later one. */
  opening: number;
  /** Counts switches, of which the last one ends the page's being busy. */
  switches: number;
  /** Counts what the person selected, when it was asked for: a slow earlier one overwrites no later one. */
  selecting: number;
  /** The opening under way: what is selected meanwhile belongs to the pair that comes. */
  settled: Promise<void>;
  /** The step and rank under way: what the person does meanwhile is meant from there. */
  coming: PairChoice | null;
  /** The node that a switch under way selects again by its name: meanwhile none is selected. */
  carried: Node | undefined;
  /** The node under way: a key pressed meanwhile goes on from there, not from what is still shown. */
  heading: { readonly node: number } | null;
  /** The opening of another file under way: keys pressed meanwhile are meant for that one. */
  arriving: { readonly db: string; readonly done: Promise<void> } | null;
}

export const useAhead = create<Ahead>()(() => ({
  opening: 0,
  switches: 0,
  selecting: 0,
  settled: Promise.resolve(),
  coming: null,
  carried: undefined,
  heading: null,
  arriving: null,
}));

/** Count one more, and say which it is. */
export function nextTicket(counted: "opening" | "switches" | "selecting"): number {
  const number = useAhead.getState()[counted] + 1;
  useAhead.setState({ [counted]: number });
  return number;
}

/** The file that is shown, or on its way. */
export function fileAhead(): string | null {
  return useAhead.getState().arriving?.db ?? useApp.getState().db;
}

/** Whether another file is on its way. */
export function isArriving(): boolean {
  return useAhead.getState().arriving !== null;
}

/** Until a file that was asked for is there, or could not be opened. */
export async function arrived(): Promise<void> {
  await useAhead.getState().arriving?.done;
}

/** Until the step and rank that were asked for are there, or could not be opened. */
export async function switched(): Promise<void> {
  await useAhead.getState().settled;
}

/** The node that is selected, or on its way. */
export function nodeAhead(): number | null {
  return useAhead.getState().heading?.node ?? useApp.getState().selected;
}

/** The step and rank that are shown, or on their way. */
export function destination(): PairChoice {
  const { step, rank } = useApp.getState();
  return useAhead.getState().coming ?? { step, rank };
}
