/* What was asked for and is not there yet: openings and selections. */

const underWay = new Set<Promise<unknown>>();

/** Do something with the selection: at once, or when all that was asked for before is there. */
export function withSelection(act: () => void): void {
  if (underWay.size === 0) act();
  else void Promise.allSettled([...underWay]).then(act);
}

/** Keep a selection or an opening in mind until it has ended. */
export async function followed(run: () => Promise<void>): Promise<void> {
  const done = run();
  underWay.add(done);
  try {
    await done;
  } finally {
    underWay.delete(done);
  }
}
