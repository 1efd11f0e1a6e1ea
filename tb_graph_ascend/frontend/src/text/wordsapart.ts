/* The words in which two lines of code differ: what they begin and end with alike is cut off. */

export interface WordsApart {
  before: string;
  /** Empty where the other line has words that this one lacks. */
  apart: string;
  after: string;
}

/** A name or a number, with its points; a gap; any other sign is one by itself. */
const WORD = /[\p{L}\p{N}_.]+|\s+|[^\p{L}\p{N}_.\s]/gu;

/** A line taken apart by another one. */
export function wordsApart(line: string, other: string): WordsApart {
  const [ours, theirs] = [wordsOf(line), wordsOf(other)];
  const most = Math.min(ours.length, theirs.length);
  let begin = 0;
  while (begin < most && isSame(ours[begin], theirs[begin])) begin += 1;
  let end = 0;
  while (end < most - begin && isSame(ours.at(-1 - end), theirs.at(-1 - end))) end += 1;
  const until = ours.length - end;
  return { before: ours.slice(0, begin).join(""), apart: ours.slice(begin, until).join(""), after: ours.slice(until).join("") };
}

function wordsOf(line: string): string[] {
  return line.match(WORD) ?? [];
}

/** How wide a gap is says nothing. */
function isSame(one: string | undefined, other: string | undefined): boolean {
  return one === other || (one?.trim() === "" && other?.trim() === "");
}
