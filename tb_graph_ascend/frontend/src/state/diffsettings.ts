/* How the rows are looked at; none of it changes what they say. */

import { create } from "zustand";

export interface DiffSettings {
  /** The benchmark's side is folded to the gutter. */
  folded: boolean;
  setFolded: (folded: boolean) => void;
}

export const useDiffSettings = create<DiffSettings>()((set) => ({
  folded: false,
  setFolded: (folded) => set({ folded }),
}));
