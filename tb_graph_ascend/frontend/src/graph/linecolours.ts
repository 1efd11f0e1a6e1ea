/* The colours of lines, by the names that the theme has for them. */

const COLOURS = ["accent", "cause", "benchmark", "hit", "violet", "cyan", "pink", "muted"] as const;

export function colourName(index: number): string {
  return COLOURS[index % COLOURS.length] ?? "ink";
}
