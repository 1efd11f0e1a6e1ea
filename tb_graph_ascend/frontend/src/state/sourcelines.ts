/* Which lines of a recorded stack tell of a call: where it stands, who called that, and the benchmark's. The command
 * chooses the same ones (`builder/dump/stack_frames.py`). */

import { type Frame, parseFrame } from "../text/frames";
import { FRAMEWORK_PACKAGES } from "./frameworkpackages";

/** A line of the problem's and the benchmark's of the same call. */
export interface LinesApart {
  mine: Frame;
  other: Frame;
}

/** Where a framework speaks, not the model; a model's own package counts as the model. */
const FRAMEWORK = new RegExp(
  String.raw`[\\/](?:site|dist)-packages[\\/](?:${FRAMEWORK_PACKAGES.join("|")})[\\/]` +
    String.raw`|[\\/]lib[\\/]python3\.\d+[\\/](?!site-packages)`,
);

/** Functions that are entered from many places, none of which says more than their own line. */
const ENTERED = new Set(["forward", "<module>"]);

/** Whether a frame is in a function that is entered from many places. */
export function isEntered({ scope }: Frame): boolean {
  return ENTERED.has(scope);
}

/** The innermost frame outside the framework, else the innermost of all. */
export function modelFrame(stack: readonly string[]): Frame | null {
  const frames = framesOf(stack);
  return frames.find(isOfModel) ?? frames[0] ?? null;
}

/** The line that led to that one, where it tells what the line itself does not; else null.
 *
 * A library's line was reached from the person's own. Of a call in both runs it is the innermost line around it that
 * reads otherwise `there`, as the line itself does not. Of a helper that one run alone calls here, the line that calls it:
 * the helper's own may stand in both scripts.
 */
export function callerFrame(stack: readonly string[], there: readonly string[] | null = null): Frame | null {
  const shown = modelFrame(stack);
  if (shown === null || !isOfModel(shown)) return null;
  if (shown.library) return framesOf(stack).find(({ library }) => !library) ?? null;
  const around = aroundModel(stack);
  if (there && there.length > 0) {
    if (readsOtherwise(shown, modelFrame(there) ?? undefined)) return null;
    const at = otherwiseAt(around, aroundModel(there));
    return around[at] ?? null;
  }
  const [next] = around;
  return !isEntered(shown) && next && !isBareCall(next, shown) ? next : null;
}

/** The line that a sentence names: the person's own that calls a helper, or the model's. A helper's line is named itself
 * where one run has that `lineAlone`. */
export function tellingFrame(stack: readonly string[], there: readonly string[] | null, lineAlone: boolean): Frame | null {
  const shown = modelFrame(stack);
  return shown?.library || lineAlone ? shown : (callerFrame(stack, there) ?? shown);
}

/** The benchmark's line of a call beside the problem's, where it reads otherwise. Of one that is `calledOtherwise` it may
 * be the person's own line that reads otherwise; where none does, the line itself tells that: what is given comes from
 * elsewhere. */
export function otherLine(stack: readonly string[], there: readonly string[] | null, calledOtherwise = false): LinesApart | null {
  const [ours, theirs] = [linesOf(stack, there), linesOf(there ?? [], stack)];
  const whole = calledOtherwise || ours[0]?.library === false;
  const at = (whole ? ours : ours.slice(0, 1)).findIndex((mine, index) => readsOtherwise(mine, theirs[index]));
  const told = at < 0 && calledOtherwise ? 0 : at;
  const [mine, other] = [ours[told], theirs[told]];
  return mine && other ? { mine, other } : null;
}

/** What two lines tell that read the same, though what is given differs. */
export function saidOfSame({ mine, other }: LinesApart): "argumentElsewhere" | "lineElsewhere" {
  return mine.number === other.number ? "argumentElsewhere" : "lineElsewhere";
}

/** Whether two lines have other code; of code that was not recorded nothing is known. */
export function readsOtherwise(ours: Frame, theirs: Frame | undefined): boolean {
  if (!theirs || ours.code === "" || theirs.code === "") return false;
  return withoutGaps(ours.code) !== withoutGaps(theirs.code);
}

/** The line of a call, and the one that led to it where that is told. */
function linesOf(stack: readonly string[], there: readonly string[] | null): Frame[] {
  return [modelFrame(stack), callerFrame(stack, there)].filter((frame) => frame !== null);
}

function framesOf(stack: readonly string[]): Frame[] {
  return stack.map(parseFrame).filter(({ number }) => number !== "");
}

function isOfModel({ file }: Frame): boolean {
  return !FRAMEWORK.test(file);
}

/** The person's own lines around the model's, the nearest first. */
function aroundModel(stack: readonly string[]): Frame[] {
  const frames = framesOf(stack);
  return frames.slice(frames.findIndex(isOfModel) + 1).filter((frame) => isOfModel(frame) && !frame.library);
}

/** The first of lines in the same functions that reads otherwise; -1 where none does. */
function otherwiseAt(ours: readonly Frame[], theirs: readonly Frame[]): number {
  for (const [index, mine] of ours.entries()) {
    const other = theirs[index];
    if (other?.scope !== mine.scope) return -1;
    if (readsOtherwise(mine, other)) return index;
  }
  return -1;
}

/** Whether a line calls a function with nothing: `main()` says nothing of what that does. */
function isBareCall({ code }: Frame, { scope }: Frame): boolean {
  return withoutGaps(code) === `${scope}()`;
}

function withoutGaps(code: string): string {
  return code.replace(/\s+/g, " ");
}
