/* What a page in one file has in place of `layoutworker.ts`: a worker would be a second file. */

/** None: at most 150 boxes are laid out in some milliseconds. */
export function startLayoutWorker(): Worker | null {
  return null;
}
