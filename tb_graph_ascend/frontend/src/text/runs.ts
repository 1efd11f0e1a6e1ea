/* What tells two runs apart: their paths from the first folder on that differs. */

export interface RunName {
  /** The folder that both are in, for where there is room. */
  folder: string;
  name: string;
}

export function runName(path: string, other: string): RunName {
  const [own, others] = [foldersOf(path), foldersOf(other)];
  let alike = 0;
  while (alike < own.length - 1 && own[alike] === others[alike]) alike += 1;
  const folder = own[alike - 1];
  return { folder: folder === undefined ? "" : `${folder}/`, name: own.slice(alike).join("/") };
}

function foldersOf(path: string): string[] {
  return path.split(/[\\/]/).filter(Boolean);
}
