/* The open module as a graph: which one, and which of its boxes are open; links keep both. */

import { create } from "zustand";

import { useApp } from "./store";

export interface Boxes {
  /** A node of the module that is shown; null for rows. */
  module: number | null;
  /** Row keys of the boxes that are open in it. */
  open: number[];
  /** From left to right instead of down. */
  across: boolean;
  /** How what is on screen is looked at; null while no graph is. */
  view: { zoom: (factor: number) => void; fit: () => void } | null;
}

export const useBoxes = create<Boxes>()(() => ({ module: null, open: [], across: false, view: null }));

/** Show the module of the selection as a graph, or the rows again. */
export function toggleBoxes(): void {
  const { session, selected } = useApp.getState();
  const node = selected ?? session?.root?.id;
  if (useBoxes.getState().module !== null) showRows();
  else if (node !== undefined) showModule(node);
}

export function showRows(): void {
  useBoxes.setState({ module: null, open: [] });
}

/** Show a module, or the one that a node stands in. */
export function showModule(node: number): void {
  useBoxes.setState({ module: node, open: [] });
}

/** Lay the graph out from left to right, or down again. */
export function turnBoxes(): void {
  useBoxes.setState(({ across }) => ({ across: !across }));
}

/** Open a box in place, or close it. */
export function toggleBox(key: number): void {
  const { open } = useBoxes.getState();
  useBoxes.setState({ open: open.includes(key) ? open.filter((one) => one !== key) : [...open, key] });
}
