/* Page, command, JSON, report and slide say the same of a fault, in words and numbers, whatever it is.
 * `make agreement` asks the same of every recorded pair of the suites. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { saysTheSame } from "./agreement";
import { python } from "./setup";

/** Those of tests/e2e/faults.py. */
const FAULTS = ["argument", "extra", "missing", "replaced", "detached", "coarse", "unseen", "data", "weights", "nan", "loss", "reduction", "clipping", "momentum", "equal", "roundabout"];
const NAMING_NOTHING = ["equal", "roundabout"];

const folder = mkdtempSync(join(tmpdir(), "agreement-"));
beforeAll(() => {
  python(["-W", "ignore", "-m", "tests.e2e.faults", folder]);
}, 300_000);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe.each(FAULTS)("what is said of %s", (name) => {
  saysTheSame(join(folder, name));

  it("names something where there is a fault", () => {
    const { findings } = JSON.parse(readFileSync(join(folder, name, "told.json"), "utf8")) as { findings: { propagated_to: number }[] };
    expect(findings.length === 0).toBe(NAMING_NOTHING.includes(name));
    const ways = JSON.parse(readFileSync(join(folder, name, "ways.json"), "utf8")) as unknown[];
    expect(ways.length > 0).toBe(findings.some(({ propagated_to: count }) => count > 0));
  });
});
