/* The colours of what the diagnosis names: loud where a difference begins, quiet where the runs come together again. */

import type { DiffRow } from "../api/types";
import type { DiffPalette } from "./scene";

export interface NamedColours {
  strong: string;
  soft: string;
  /** Text on the strong one. */
  ink: string;
}

/** Those of a row that is named, or holds one that is. */
export function namedColours({ word }: Pick<DiffRow, "word">, { bad, badSoft, badInk, heals, healsSoft, healsInk }: DiffPalette): NamedColours {
  return word === "heals" ? { strong: heals, soft: healsSoft, ink: healsInk } : { strong: bad, soft: badSoft, ink: badInk };
}
