/* Shows the same texts on every machine and day, for pictures: folders, dates and versions of the
 * server's answers are replaced before the page sees them. */
import { dirname, resolve } from "node:path";
import type { Page } from "playwright-core";

import type { Places } from "./setup";
import { ROOT } from "./setup";

const SAMPLES = resolve(ROOT, "tests/samples/msprobe-26.2.0");

/** Replace what differs between machines in all answers that the page will get. */
export async function neutralise(page: Page, places: Places): Promise<void> {
  await page.route(/\/api\/(?!builds)/, async (route) => {
    const answer = await route.fetch();
    const body = (await answer.text())
      .replaceAll(dirname(places.logdir), "/job")
      .replaceAll(SAMPLES, "/job/dumps")
      .replace(/"created":"[^"]*"/, '"created":"2026-01-02T03:04:05"')
      .replace(/"tool_version":"[^"]*"/, '"tool_version":"1.0"');
    await route.fulfill({ response: answer, body });
  });
}

/** Close a page whose answers are replaced; some may still be on their way. */
export async function leave(page: Page): Promise<void> {
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.context().close();
}
