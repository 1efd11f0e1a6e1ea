/* Unit tests of the framework-free core; no browser, no server. */
import { defineConfig } from "vitest/config";

// A busy machine is no defect: a test that reads all sources has taken more than the five seconds of default.
export default defineConfig({ test: { include: ["tests/**/*.test.ts"], environment: "node", testTimeout: 60_000 } });
