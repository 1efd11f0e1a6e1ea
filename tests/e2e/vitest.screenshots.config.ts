/* The pictures under docs/screenshots: `npm run screenshots`. */
import { defineConfig } from "vitest/config";

import journeys from "./vitest.config.ts";

export default defineConfig({ test: { ...journeys.test, include: ["**/*.shots.ts"] } });
