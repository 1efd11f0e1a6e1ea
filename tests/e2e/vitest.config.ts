/* Browser journeys: real server, real databases, headless Chromium, two files at a time. */
import { defineConfig } from "vitest/config";

import { LongestFirst } from "./order.ts";

export default defineConfig({
  test: {
    include: ["**/*.test.ts"],
    globalSetup: ["./setup.ts"],
    // Two browsers on two cores: most of the time they wait for what they look at.
    maxWorkers: 2,
    // The files share nothing but the browser, which each opens and closes for itself.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
