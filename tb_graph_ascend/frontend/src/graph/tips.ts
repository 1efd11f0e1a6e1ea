/* What a mouse is told when it rests on something: which part of the page tells what. */

/** Says more about a part of the page than stands there. */
export interface Tip {
  of: Element;
  text: string;
  /** Where a finger asked, for parts as large as a list. */
  at?: { x: number; y: number };
}

/** Regions of the page whose tips belong together. */
const REGIONS = "[role=dialog], .menu-list, .tabs, .panel-content, .bottom-head, .boxes, .diff, .answer, .rank-strip, header, section, main";
/** The nearest tip of an element, its own or of what holds it. */
export function tipOf(element: Element | null): Tip | null {
  for (let of = element; of; of = of.parentElement) {
    const text = textOf(of);
    if (text !== "") return { of, text };
  }
  return null;
}

/** All tips of a region that say more than is seen, in the order of the page. */
export function tipsIn(region: Element): Tip[] {
  return [...region.querySelectorAll("*")].flatMap((of) => {
    // A canvas tells of what the pointer is on; by keys its rows and cells are selected.
    const text = of.matches("canvas") ? "" : textOf(of);
    return text !== "" && isSeen(of) && !standsThere(of, text) ? [{ of, text }] : [];
  });
}

/** The region that has the focus; without focus, where the page says what begins. */
export function regionOf(focused: Element | null): Element {
  const page = focused?.ownerDocument ?? document;
  return focused?.closest(REGIONS) ?? page.querySelector(".answer") ?? page.body;
}

/** An attribute in HTML, an element of its own in pictures. */
function textOf(element: Element): string {
  const drawn = element.namespaceURI?.endsWith("/svg") ? [...element.children].find(({ tagName }) => tagName === "title") : undefined;
  return (element.getAttribute("title") ?? drawn?.textContent ?? "").trim();
}

function isSeen(element: Element): boolean {
  const { width, height } = element.getBoundingClientRect();
  // A straight edge has a length alone.
  return Math.max(width, height) > 0;
}

/** The whole text stands there, and nothing of it is cut off; in pictures it would be the tip itself that stands there. */
function standsThere(element: Element, text: string): boolean {
  return element instanceof HTMLElement && element.textContent.trim() === text && element.scrollWidth <= element.clientWidth;
}
