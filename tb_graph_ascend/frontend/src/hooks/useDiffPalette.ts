/* The theme's colours for the rows, read from the style sheet so that they stand in one place. */

import { useMemo } from "react";

import type { DiffPalette } from "../graph/scene";
import { type Theme, usePreferences } from "../state/preferences";

export function useDiffPalette(): DiffPalette {
  const theme = usePreferences((state) => state.theme);
  return useMemo(() => readPalette(theme), [theme]);
}

function readPalette(theme: Theme): DiffPalette {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    theme,
    canvas: read("diff-ground"),
    raised: read("diff-gutter"),
    hover: read("hover"),
    current: read("current"),
    line: read("line"),
    ink: read("ink"),
    muted: read("muted"),
    hatch: read("diff-hatch"),
    accent: read("accent"),
    hit: read("hit"),
    rail: read("rail"),
    railBad: read("rail-bad"),
    flowIn: read("flow-in"),
    flowOut: read("flow-out"),
    bad: read("bad"),
    badSoft: read("bad-soft"),
    badInk: read("bad-ink"),
    heals: read("heals"),
    healsSoft: read("heals-soft"),
    healsInk: read("heals-ink"),
    font: read("font"),
  };
}
