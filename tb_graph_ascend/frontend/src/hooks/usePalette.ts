/* The theme's colours for the canvas, read from the style sheet so that they stand in one place. */

import { useMemo } from "react";

import type { Palette } from "../graph/paint";
import { usePreferences, type Theme } from "../state/preferences";

export function usePalette(): Palette {
  const theme = usePreferences((state) => state.theme);
  return useMemo(() => readPalette(theme), [theme]);
}

function readPalette(theme: Theme): Palette {
  document.documentElement.dataset.theme = theme;
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    canvas: read("canvas"),
    surface: read("box"),
    nested: read("nested"),
    line: read("line"),
    border: read("box-border"),
    ink: read("ink"),
    muted: read("muted"),
    hatch: read("hatch"),
    accent: read("accent"),
    hit: read("hit"),
    font: read("font"),
  };
}
