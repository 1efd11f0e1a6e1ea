/* The red ramp of scores: one hue, away from the ground with the score: from near white to dark red
 * on a light page, from near black to bright red on a dark one. Lightness alone carries the order. */

const HUE = (25 / 180) * Math.PI;
const STEPS = 256;
export type RampTheme = "light" | "dark";
/** Lightness, chroma of OKLCH at score 0, 0.5 and 1. */
const STOPS = {
  light: [
    [0.975, 0.008],
    [0.73, 0.145],
    [0.37, 0.14],
  ],
  dark: [
    [0.27, 0.012],
    [0.53, 0.15],
    [0.81, 0.125],
  ],
} as const;

/** Luminance on which black and white stand out equally: √(1.05 · 0.05) − 0.05. */
const EQUAL_CONTRAST = 0.179;

const fillsOf = (theme: RampTheme): string[] =>
  Array.from({ length: STEPS }, (_, step) => css(oklch(step / (STEPS - 1), theme)));
const FILLS = { light: fillsOf("light"), dark: fillsOf("dark") };

/** The fill of a score between 0 and 1, for what is painted. */
export function rampColor(score: number, theme: RampTheme): string {
  return FILLS[theme][Math.round(clamp(score) * (STEPS - 1))] ?? "";
}

/** Black or white, whichever reads better on the fill of this score. */
export function inkOn(score: number, theme: RampTheme): string {
  return luminance(rampRgb(score, theme)) > EQUAL_CONTRAST ? "#000000" : "#ffffff";
}

/** The fill as CSS that follows the page's colour scheme by itself. */
export function rampFill(score: number): string {
  return `light-dark(${rampColor(score, "light")}, ${rampColor(score, "dark")})`;
}

/** The ink on it. */
export function inkFill(score: number): string {
  return `light-dark(${inkOn(score, "light")}, ${inkOn(score, "dark")})`;
}

/** WCAG 2.2 relative luminance of an sRGB triple. */
export function luminance(rgb: readonly number[]): number {
  const [r = 0, g = 0, b = 0] = rgb.map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Relative lightness (OKLab L) of a score's fill. */
export function lightness(score: number, theme: RampTheme): number {
  return stopAt(score, theme)[0];
}

/** The sRGB triple of a score's fill, 0 … 255. */
export function rampRgb(score: number, theme: RampTheme): [number, number, number] {
  return oklch(clamp(score), theme);
}

function clamp(score: number): number {
  return Math.min(1, Math.max(0, score));
}

function stopAt(score: number, theme: RampTheme): [number, number] {
  const upper = score > 0.5;
  const stops = STOPS[theme];
  const from = upper ? stops[1] : stops[0];
  const to = upper ? stops[2] : stops[1];
  const share = upper ? score * 2 - 1 : score * 2;
  return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
}

/** OKLCH → sRGB by Björn Ottosson's matrices (https://bottosson.github.io/posts/oklab/). */
function oklch(score: number, theme: RampTheme): [number, number, number] {
  const [light, chroma] = stopAt(score, theme);
  const a = chroma * Math.cos(HUE);
  const b = chroma * Math.sin(HUE);
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

function gamma(linear: number): number {
  const value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
  return Math.round(clamp(value) * 255);
}

function css([red, green, blue]: [number, number, number]): string {
  return `rgb(${red} ${green} ${blue})`;
}
