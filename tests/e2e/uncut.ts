/* Texts that are cut off with nothing to tell the rest: what no page may have at any size. */
import type { Page } from "playwright-core";

export const SIZES = [
  { width: 1024, height: 700 },
  { width: 1440, height: 900 },
  { width: 1920, height: 1080 },
  { width: 2560, height: 1440 },
] as const;

/** What is cut in the page as it stands: the text, and where; an ellipsis is fine where the whole is told on hover. */
export function cutTexts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const hides = (overflow: string): boolean => overflow === "hidden" || overflow === "clip";
    /** For ears alone, or not drawn at all. */
    const isUnseen = (one: Element): boolean => one.closest(".sr-only, [hidden], canvas") !== null || !one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    const hasOwnText = (one: Element): boolean => [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim() !== "");
    /** A title tells the whole where it is no shorter than the text. */
    const isTold = (one: Element, style: CSSStyleDeclaration): boolean =>
      style.textOverflow === "ellipsis" && (one.closest("[title]")?.getAttribute("title") ?? "").length >= one.textContent.trim().length;
    /** The box that hides what a text has beyond it: itself, or one it stands in that does not scroll. */
    const clipped = (one: Element): boolean => {
      const range = document.createRange();
      range.selectNodeContents(one);
      const text = range.getBoundingClientRect();
      if (text.width === 0 || text.height === 0) return false;
      for (let at: Element | null = one; at !== null && at !== document.body; at = at.parentElement) {
        const style = getComputedStyle(at);
        // What scrolls shows the rest, and hides it until then.
        if (["auto", "scroll"].some((way) => style.overflowX === way || style.overflowY === way)) return false;
        const box = at.getBoundingClientRect();
        const wide = hides(style.overflowX) && text.right > box.right + 1.5 && text.left < box.right;
        const high = hides(style.overflowY) && text.bottom > box.bottom + 4 && text.top < box.bottom;
        if (wide || high) return !isTold(one, style);
      }
      return false;
    };
    return [...document.body.querySelectorAll("*")]
      .filter((one) => one instanceof HTMLElement && hasOwnText(one) && !isUnseen(one) && clipped(one))
      .map((one) => `${one.tagName.toLowerCase()}.${one.className}: ${one.textContent.trim().slice(0, 60)}`);
  });
}
