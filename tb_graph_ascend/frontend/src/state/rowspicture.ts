/* The rows in view as one picture, with the heads that stand over them: which run is which, what the numbers are. */

/** The canvas of the rows below the words of its heads, each where the page has it. */
export function withHeads(rows: HTMLCanvasElement, heads: HTMLElement): HTMLCanvasElement {
  const sharpness = rows.width / Math.max(1, rows.clientWidth);
  const from = rows.getBoundingClientRect();
  const frame = heads.getBoundingClientRect();
  const picture = document.createElement("canvas");
  const above = Math.ceil(frame.height * sharpness);
  picture.width = rows.width;
  picture.height = rows.height + above;
  const context = picture.getContext("2d");
  if (!context) return rows;
  context.fillStyle = groundOf(heads);
  context.fillRect(0, 0, picture.width, picture.height);
  context.drawImage(rows, 0, above);
  context.scale(sharpness, sharpness);
  context.textBaseline = "middle";
  for (const word of wordsIn(heads)) {
    const { parentElement: holder, data } = word;
    if (!holder || data.trim() === "") continue;
    const range = document.createRange();
    range.selectNodeContents(word);
    const { left, top, height, width } = range.getBoundingClientRect();
    const look = getComputedStyle(holder);
    context.font = `${look.fontWeight} ${look.fontSize} ${look.fontFamily}`;
    context.fillStyle = look.color;
    if (width > 0) context.fillText(data.trim(), left - from.left, top - frame.top + height / 2);
  }
  return picture;
}

function wordsIn(element: HTMLElement): Text[] {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) found.push(node as Text);
  return found;
}

/** The ground that is seen behind an element. */
function groundOf(element: HTMLElement): string {
  const above: HTMLElement[] = [];
  for (let at: HTMLElement | null = element; at; at = at.parentElement) above.push(at);
  const opaque = above.map((one) => getComputedStyle(one).backgroundColor).find((colour) => colour !== "rgba(0, 0, 0, 0)" && colour !== "transparent");
  return opaque ?? "#fff";
}
