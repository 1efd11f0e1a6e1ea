/* The tip that is shown: by a finger that rests on something, or by the key I. */

import { create } from "zustand";

import { type Tip, regionOf, tipsIn } from "../graph/tips";

/** What is selected where the focus is on a whole region. */
const CHOSEN = "[data-selected=true]";

export const useTip = create<{ tip: Tip | null; show: (tip: Tip | null) => void }>()((set) => ({
  tip: null,
  show: (tip) => set({ tip }),
}));

/** Show the next tip of the region that has the focus, from what has it or is selected on; after the last one none. */
export function nextTip(): void {
  const { tip, show } = useTip.getState();
  const region = regionOf(document.activeElement);
  const tips = tipsIn(region);
  if (tip && region.contains(tip.of)) {
    show(tips[tips.findIndex(({ of }) => of === tip.of) + 1] ?? null);
    return;
  }
  const chosen = region.querySelector(CHOSEN);
  const from = tips.findIndex(({ of }) => of === document.activeElement || of.contains(chosen));
  show(tips[Math.max(0, from)] ?? null);
}
