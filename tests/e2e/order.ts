/* The order of the journeys: what takes longest first, then by the size of the file.
 *
 * Two files run at a time, and what starts last decides when both workers are done. */
import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** They take longest for their size: every screen four times, and four trainings. */
const LONGEST = ["accessibility.test.ts", "trends.test.ts"];

function place(spec: TestSpecification): number {
  const named = LONGEST.indexOf(basename(spec.moduleId));
  return named >= 0 ? named : LONGEST.length;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}
