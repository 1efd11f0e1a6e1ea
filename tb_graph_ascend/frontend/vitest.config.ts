/* Unit tests of the framework-free core; no browser, no server. */
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["tests/**/*.test.ts"], environment: "node" } });
