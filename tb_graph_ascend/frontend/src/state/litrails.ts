/* Which rails of the selected row are lit: those of the value under the pointer. */

import { create } from "zustand";

import type { Node } from "../api/types";

export interface LitRails {
  /** The nodes at their other ends. */
  ends: readonly Pick<Node, "id" | "side">[];
}

const NONE: LitRails["ends"] = [];

export const useLitRails = create<LitRails>()(() => ({ ends: NONE }));

export function lightRails(ends: LitRails["ends"] = NONE): void {
  useLitRails.setState({ ends });
}
