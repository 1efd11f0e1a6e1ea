/* The graph of a module as a file: the same SVG that is on screen, whole and unmoved, or drawn as PNG. */

import type { ModuleGraph } from "../api/types";
import type { Layout } from "../graph/layered";
import { download } from "./export";

interface Laid {
  graph: ModuleGraph;
  layout: Layout;
}

/** Twice the size, for papers and large screens. */
const SHARPNESS = 2;

export function saveSvg(drawn: SVGSVGElement, laid: Laid, ground: string, stem: string): void {
  download(`${nameOf(laid, stem)}.svg`, svgText(drawn, laid, ground), "image/svg+xml");
}

export async function savePng(drawn: SVGSVGElement, laid: Laid, ground: string, stem: string): Promise<void> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(drawn, laid, ground))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(laid.layout.width * SHARPNESS);
  canvas.height = Math.ceil(laid.layout.height * SHARPNESS);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => blob && download(`${nameOf(laid, stem)}.png`, blob, "image/png"));
}

function svgText(drawn: SVGSVGElement, { layout: { width, height } }: Laid, ground: string): string {
  const copy = drawn.cloneNode(true) as SVGSVGElement;
  copy.querySelector("g")?.removeAttribute("transform");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  paper.setAttribute("width", "100%");
  paper.setAttribute("height", "100%");
  paper.setAttribute("fill", ground);
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

/** By the result file first, as all that is handed on. */
function nameOf({ graph: { module } }: Laid, stem: string): string {
  const title = (module.problem ?? module.benchmark)?.title ?? "module";
  return `${stem}-graph-${title.replace(/[^\w.-]+/g, "_")}`;
}
