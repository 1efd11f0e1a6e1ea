/* What tells two runs apart: their paths from the first folder on that differs. */

/** More folders than these are left out in the middle. */
const MOST = 4;

export interface RunName {
  /** The folder that both are in, for where there is room. */
  folder: string;
  name: string;
}

/** With `whole` no folder is left out: `folder` holds all that both are in. */
export function runName(path: string, other: string, { whole = false } = {}): RunName {
  const [own, others] = [foldersOf(path), foldersOf(other)];
  let alike = 0;
  while (alike < own.length - 1 && own[alike] === others[alike]) alike += 1;
  if (whole) return { folder: own.slice(0, alike).map((one) => `${one}/`).join(""), name: own.slice(alike).join("/") };
  const folder = own[alike - 1];
  return { folder: folder === undefined ? "" : `${folder}/`, name: shortened(own.slice(alike)).join("/") };
}

/** The first folder, which tells runs apart, and the last two, which people know them by. */
function shortened(folders: string[]): string[] {
  return folders.length <= MOST ? folders : [...folders.slice(0, 1), "…", ...folders.slice(-2)];
}

function foldersOf(path: string): string[] {
  return path.split(/[\\/]/).filter(Boolean);
}
