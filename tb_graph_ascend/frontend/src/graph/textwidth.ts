/* How wide a text is drawn, remembered: a frame writes thousands of labels, and the next the same. */

const MOST = 50_000;
const widths = new Map<string, Map<string, number>>();
const shortened = new Map<string, string>();

/** The width of a text; `font` is what the context's font was set to, which is slow to read back. */
export function measure(context: CanvasRenderingContext2D, font: string, text: string): number {
  let known = widths.get(font);
  if (known === undefined || known.size > MOST) {
    known = new Map<string, number>();
    widths.set(font, known);
  }
  let width = known.get(text);
  if (width === undefined) {
    width = context.measureText(text).width;
    known.set(text, width);
  }
  return width;
}

/** How wide a text is drawn in the font of the page; an estimate where nothing can be drawn. */
export function drawnWidth(text: string, px: number, weight: 400 | 600): number {
  pen = pen === undefined ? penOf() : pen;
  if (pen === null) return lettersOf(text) * px * (weight === 600 ? 0.63 : 0.57);
  const font = `${weight} ${px}px ${pen.family}`;
  pen.context.font = font;
  return measure(pen.context, font, text);
}

/** What texts are measured with; null without a page, undefined as long as nobody asked. */
let pen: Pen | null | undefined;

interface Pen {
  context: CanvasRenderingContext2D;
  family: string;
}

function penOf(): Pen | null {
  if (typeof document === "undefined") return null;
  const context = document.createElement("canvas").getContext("2d");
  return context && { context, family: getComputedStyle(document.documentElement).getPropertyValue("--font") };
}

/** How many Latin letters are as wide as a text; Chinese takes the room of nearly two. */
function lettersOf(text: string): number {
  return Array.from(text).reduce((sum, one) => sum + (one >= "\u2e80" ? 1.7 : 1), 0);
}

/** Cut a text to a width: the front of a path, whose end tells it apart, and the middle of other names. */
export function shorten(
  context: CanvasRenderingContext2D,
  font: string,
  text: string,
  room: number,
): string {
  if (measure(context, font, text) <= room) return text;
  const key = `${Math.floor(room)} ${font} ${text}`;
  let shown = shortened.get(key);
  if (shown === undefined) {
    if (shortened.size > MOST) shortened.clear();
    shown = cut(context, text, Math.floor(room));
    shortened.set(key, shown);
  }
  return shown;
}

function cut(context: CanvasRenderingContext2D, text: string, room: number): string {
  let fits = 1;
  let tooLong = text.length;
  while (tooLong - fits > 1) {
    const keep = (fits + tooLong) >> 1;
    if (context.measureText(letters(text, keep)).width <= room) fits = keep;
    else tooLong = keep;
  }
  return letters(text, fits);
}

/** So many letters of a text: the last of a path, else two thirds from its front. */
export function letters(text: string, keep: number): string {
  const front = text.includes(".") ? 0 : Math.ceil((2 * keep) / 3);
  return `${text.slice(0, front)}…${text.slice(text.length - keep + front)}`;
}
