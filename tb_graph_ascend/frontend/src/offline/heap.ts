/* A heap of tuples of numbers: the least is taken first, as Python's `heapq` has it. */

type Entry = readonly number[];

export class Heap {
  private readonly entries: Entry[] = [];

  push(entry: Entry): void {
    const { entries } = this;
    let place = entries.length;
    entries.push(entry);
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!isLess(entry, entries[above] ?? entry)) break;
      entries[place] = entries[above] ?? entry;
      place = above;
    }
    entries[place] = entry;
  }

  pop(): Entry | undefined {
    const { entries } = this;
    const [least] = entries;
    const last = entries.pop();
    if (last === undefined || entries.length === 0) return least;
    let place = 0;
    for (let below = 1; below < entries.length; below = 2 * place + 1) {
      const [left = last, right] = [entries[below], entries[below + 1]];
      const next = right !== undefined && isLess(right, left) ? below + 1 : below;
      const smaller = entries[next] ?? last;
      if (!isLess(smaller, last)) break;
      entries[place] = smaller;
      place = next;
    }
    entries[place] = last;
    return least;
  }
}

function isLess(one: Entry, other: Entry): boolean {
  for (let place = 0; place < one.length; place++) {
    const [left = 0, right = 0] = [one[place], other[place]];
    if (left !== right) return left < right;
  }
  return false;
}
