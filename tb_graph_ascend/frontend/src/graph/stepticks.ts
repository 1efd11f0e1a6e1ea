/* Where steps are written along an axis whose columns are of several steps, and not all of as many. */

import { columnOf } from "./heatpaint";

export interface StepTick {
  step: number;
  /** Of the axis, 0 to 1: where the column of that step begins. */
  at: number;
}

/** Round steps (1, 2 or 5 times a power of ten apart), at most so many; the first one where no round
 * one lies between. `steps` are the first ones of columns, ascending. */
export function stepTicks(steps: readonly number[], most: number): StepTick[] {
  const [first, last] = [steps[0], steps[steps.length - 1]];
  if (first === undefined || last === undefined || most < 1) return [];
  const apart = roundUp((last - first) / most);
  const ticks: StepTick[] = [];
  for (let step = Math.ceil(first / apart) * apart; step <= last; step += apart) ticks.push(tickOf(steps, step));
  return ticks.length > 0 ? ticks : [tickOf(steps, first)];
}

/** Where a step stands on the axis; null where it lies before or behind. */
export function placeOf(steps: readonly number[], step: number): number | null {
  const [first, last] = [steps[0], steps[steps.length - 1]];
  if (first === undefined || last === undefined || step < first) return null;
  // The last column goes on for as many steps as the one before it.
  const width = steps.length > 1 ? last - (steps[steps.length - 2] ?? last) : 1;
  return step < last + width ? tickOf(steps, step).at : null;
}

function tickOf(steps: readonly number[], step: number): StepTick {
  return { step, at: columnOf(steps, step) / steps.length };
}

/** The least of 1, 2, 5, 10, … that is no less. */
function roundUp(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return ([1, 2, 5].find((digit) => digit * power >= least) ?? 10) * power;
}
