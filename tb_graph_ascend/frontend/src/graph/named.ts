/* The calls and modules that a sentence names as the dumps do, found and told as the rows tell them. */

import { calledByName } from "./called";

const NAMES =
  /\b(?:Module|Cell)\.[\w.]+?\.(?:forward|backward|parameters_grad)(?:\.\d+)?(?!\.?\w)|\b[A-Z]\w*\.[\w.]+?\.\d+\.(?:forward|backward)(?!\.?\w)/g;

/** A piece of a sentence; `name` where it is one. */
export interface Piece {
  text: string;
  name: string | null;
}

/** A sentence cut at the names in it, which are told as in the rows. */
export function namedPieces(sentence: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const { 0: name, index } of sentence.matchAll(NAMES)) {
    if (index > end) pieces.push({ text: sentence.slice(end, index), name: null });
    pieces.push({ text: calledByName(name), name });
    end = index + name.length;
  }
  if (end < sentence.length) pieces.push({ text: sentence.slice(end), name: null });
  return pieces;
}

/** The sentence with its names told as in the rows: `softmax #2`, not `Functional.softmax.2.forward`. */
export function toldBriefly(sentence: string): string {
  return namedPieces(sentence)
    .map(({ text }) => text)
    .join("");
}
