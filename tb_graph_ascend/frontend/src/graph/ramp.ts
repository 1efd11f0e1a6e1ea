/* The red ramp of scores: one hue, lightness falling steadily from near white (0) to dark red (1).
 * It is the same in light and dark theme, and lightness alone carries the order. */

const HUE = (25 / 180) * Math.PI;
const STEPS = 256;
/** Lightness, chroma of OKLCH at score 0, 0.5 and 1. */
const STOPS = [
  [0.975, 0.008],
  [0.73, 0.145],
  [0.37, 0.14],
] as const;

/** Luminance on which black and white stand out equally: √(1.05 · 0.05) − 0.05. */
const EQUAL_CONTRAST = 0.179;

const FILLS = Array.from({ length: STEPS }, (_, step) => css(oklch(step / (STEPS - 1))));

/** The fill of a score between 0 and 1. */
export function rampColor(score: number): string {
  return FILLS[Math.round(clamp(score) * (STEPS - 1))] ?? "";
}

/** Black or white, whichever reads better on the fill of this score. */
export function inkOn(score: number): string {
  return luminance(rampRgb(score)) > EQUAL_CONTRAST ? "#000000" : "#ffffff";
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
export function lightness(score: number): number {
  return stopAt(score)[0];
}

/** The sRGB triple of a score's fill, 0 … 255. */
export function rampRgb(score: number): [number, number, number] {
  return oklch(clamp(score));
}

function clamp(score: number): number {
  return Math.min(1, Math.max(0, score));
}

function stopAt(score: number): [number, number] {
  const upper = score > 0.5;
  const from = upper ? STOPS[1] : STOPS[0];
  const to = upper ? STOPS[2] : STOPS[1];
  const share = upper ? score * 2 - 1 : score * 2;
  return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
}

/** OKLCH → sRGB by Björn Ottosson's matrices (https://bottosson.github.io/posts/oklab/). */
function oklch(score: number): [number, number, number] {
  const [light, chroma] = stopAt(score);
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
