/* The parts of names that are written much like a word: Ratcliff and Obershelp's ratio, as Python's
 * `difflib.get_close_matches` has it. */

const MOST = 3;
const LEAST_RATIO = 0.6;

/** Up to three of the texts that are most like a word, the nearest first. */
export function nearest(word: string, texts: Iterable<string>): string[] {
  const near: { text: string; ratio: number }[] = [];
  for (const text of texts) {
    const ratio = ratioOf(text, word);
    if (ratio >= LEAST_RATIO) near.push({ text, ratio });
  }
  near.sort((one, other) => other.ratio - one.ratio || (one.text < other.text ? 1 : -1));
  return near.slice(0, MOST).map(({ text }) => text);
}

function ratioOf(one: string, other: string): number {
  const length = one.length + other.length;
  if (length === 0) return 1;
  if ((2 * Math.min(one.length, other.length)) / length < LEAST_RATIO) return 0;
  return (2 * matching(one, other)) / length;
}

/** How many letters lie in the longest common piece and, left and right of it, in the same way. */
function matching(one: string, other: string): number {
  const { start, begin, size } = longest(one, other);
  if (size === 0) return 0;
  const left = matching(one.slice(0, start), other.slice(0, begin));
  return left + size + matching(one.slice(start + size), other.slice(begin + size));
}

function longest(one: string, other: string): { start: number; begin: number; size: number } {
  let best = { start: 0, begin: 0, size: 0 };
  let before: number[] = [];
  for (let start = 0; start < one.length; start++) {
    const here: number[] = [];
    for (let begin = 0; begin < other.length; begin++) {
      if (one[start] !== other[begin]) continue;
      const size = (before[begin - 1] ?? 0) + 1;
      here[begin] = size;
      if (size > best.size) best = { start: start - size + 1, begin: begin - size + 1, size };
    }
    before = here;
  }
  return best;
}
