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

/** Cut a text to a width with an ellipsis. */
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
    if (context.measureText(`${text.slice(0, keep)}…`).width <= room) fits = keep;
    else tooLong = keep;
  }
  return `${text.slice(0, fits)}…`;
}
