/* What outlets say of recorded pairs, without server and browser: `make agreement`. */
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["recorded.agreement.ts"], testTimeout: 120_000, reporters: ["default"] } });
