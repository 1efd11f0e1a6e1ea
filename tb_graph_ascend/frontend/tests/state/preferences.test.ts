/* The theme is on the page before anybody draws in it. */
import { expect, it, vi } from "vitest";

it("puts the theme on the page at once, and before those who draw in its colours hear of it", async () => {
  const root: { dataset: { theme?: string } } = { dataset: {} };
  const page = { matchMedia: () => ({ matches: false }), localStorage: { getItem: () => null, setItem: () => undefined } };
  vi.stubGlobal("window", { ...page, parent: page });
  vi.stubGlobal("navigator", { languages: ["en"] });
  vi.stubGlobal("document", { documentElement: root });
  const { showTheme, usePreferences } = await import("../../src/state/preferences");
  showTheme();
  expect(root.dataset.theme).toBe("light");
  const drawn: (string | undefined)[] = [];
  usePreferences.subscribe(() => drawn.push(root.dataset.theme));
  usePreferences.getState().setTheme("dark");
  usePreferences.getState().setTheme("light");
  expect(drawn).toEqual(["dark", "light"]);
  vi.unstubAllGlobals();
});
