/* The tip that is shown: by a finger that rests on something, or by the key I. */

import { create } from "zustand";

import { type Tip, regionOf, tipsIn } from "../graph/tips";

export const useTip = create<{ tip: Tip | null; show: (tip: Tip | null) => void }>()((set) => ({
  tip: null,
  show: (tip) => set({ tip }),
}));

/** Show the next tip of the region that has the focus, after the last one none. */
export function nextTip(): void {
  const { tip, show } = useTip.getState();
  const tips = tipsIn(regionOf(document.activeElement));
  // What is drawn anew is another element; then the walk begins anew too.
  show(tips[tips.findIndex(({ of }) => of === tip?.of) + 1] ?? null);
}
