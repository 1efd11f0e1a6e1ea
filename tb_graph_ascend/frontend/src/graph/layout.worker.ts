/* Lays boxes out beside the page, which goes on meanwhile. */

import type { LaidEdge } from "./boxroutes";
import { type LaidBox, type Layout, layOut } from "./layered";

export interface LayoutWish {
  ticket: number;
  boxes: LaidBox[];
  edges: LaidEdge[];
  across: boolean;
}

export interface LayoutDone {
  ticket: number;
  layout: Layout;
}

self.addEventListener("message", ({ data }: MessageEvent<LayoutWish>) => {
  const { ticket, boxes, edges, across } = data;
  const done: LayoutDone = { ticket, layout: layOut(boxes, edges, across) };
  self.postMessage(done);
});
