/* Numbers as people read them: four significant digits, full precision for hover and copy. */

import type { Measure } from "../api/types";

const DIGITS = 4;

/** Four significant digits, or as many as are asked for; exponents where the number is very large or small. */
export function shortNumber(value: Measure | undefined, digits = DIGITS): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return NON_FINITE[value];
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(digits - 1).replace("e+", "e");
  if (Number.isInteger(value)) return String(value);
  return value.toPrecision(digits).replace("e+", "e");
}

/** So many digits tell any two doubles apart, as all that there are do more briefly. */
const MOST_DIGITS = 17;
/** Of the difference of two numbers the first digit at least is right: 0.99999 beside 0.999999 is not beside 1. */
const WITHIN = 0.1;
/** Beyond it four digits are whole. */
const WHOLE = 1000;

/** Two numbers beside each other: four digits each, or as many as show how far they are apart. The command does the
 * same (`builder/reasons/beside.py`). */
export function besideTexts(one: Measure | undefined, other: Measure | undefined): [string, string] {
  const rounded = (digits: number): [string, string] => [shortNumber(one, digits), shortNumber(other, digits)];
  if (typeof one !== "number" || typeof other !== "number") return rounded(DIGITS);
  const apart = one - other;
  for (let digits = DIGITS; digits < MOST_DIGITS; digits += 1) {
    const [left, right] = rounded(digits);
    const isShown = Math.abs(Number(left) - Number(right) - apart) <= WITHIN * Math.abs(apart);
    const isWhole = isRoundedUp(one, left) || isRoundedUp(other, right);
    if (isShown && !isWhole) return digits === DIGITS ? [left, right] : [withoutZeros(left), withoutZeros(right)];
  }
  return [String(one), String(other)];
}

/** Whether a number that is not whole reads as one: 0.999995 as 1 says that nothing decays. */
function isRoundedUp(number: number, shown: string): boolean {
  return Number.isInteger(Number(shown)) && !Number.isInteger(number) && Math.abs(number) < WHOLE;
}

/** A number without the zeros at its end. */
export function withoutZeros(text: string): string {
  return text.replace(/(\.\d*?)0+(?=e|$)/, "$1").replace(/\.(?=e|$)/, "");
}

/** A tick of a logarithmic axis, where 0.0001 must not read as 0; uPlot blanks those that would touch with null. */
export function tickText(value: number | null): string {
  if (value === null) return "";
  const near = value >= 0.01 && value <= 1000;
  return near ? String(Number(value.toPrecision(3))) : value.toExponential(0).replace("e+", "e");
}

/** Every digit that the file holds. */
export function fullNumber(value: Measure | undefined): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? NON_FINITE[value] : String(value);
}

/** Problem − benchmark; non-finite operands give what arithmetic gives. */
export function difference(problem: Measure, benchmark: Measure): Measure {
  const a = finite(problem);
  const b = finite(benchmark);
  if (a === null || b === null) return null;
  const value = a - b;
  if (Number.isNaN(value)) return "nan";
  return Number.isFinite(value) ? value : value > 0 ? "inf" : "-inf";
}

/** |problem − benchmark| / |benchmark|; the same number twice is no error, whatever it is. */
export function relativeError(problem: number, benchmark: number): Measure {
  if (problem === benchmark) return 0;
  const value = Math.abs(problem - benchmark) / Math.abs(benchmark);
  if (Number.isNaN(value)) return "nan";
  return Number.isFinite(value) ? value : "inf";
}

/** Octaves apart: three significant digits everywhere, so that one fact is one number. */
export function octavesText(octaves: number | null): string {
  return octaves === null ? "–" : octaves === 0 ? "0" : octaves.toPrecision(3);
}

/** Score with two digits, as boxes print it. */
export function scoreText(score: number | null): string {
  return score === null ? "–" : score.toFixed(2);
}

const NON_FINITE = { nan: "NaN", inf: "Inf", "-inf": "−Inf" } as const;

function finite(value: Measure): number | null {
  if (value === null || typeof value === "number") return value;
  return value === "nan" ? NaN : value === "inf" ? Infinity : -Infinity;
}
