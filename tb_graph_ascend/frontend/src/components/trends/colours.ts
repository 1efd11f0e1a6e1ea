/* The colours of the heat map in the theme that is on. */

import type { HeatColours, Rgb } from "../../graph/heatpaint";
import { rampRgb } from "../../graph/ramp";

const COLD: Rgb = [33, 102, 172];
const NOTHING: Rgb = [128, 128, 128];

export function heatColours(): HeatColours {
  const dark = document.documentElement.dataset.theme === "dark";
  return {
    low: dark ? [98, 164, 230] : COLD,
    middle: dark ? [38, 44, 52] : [246, 246, 246],
    high: dark ? [240, 104, 84] : rampRgb(0.85, "light"),
    absent: NOTHING,
    broken: dark ? [255, 255, 255] : [0, 0, 0],
  };
}
