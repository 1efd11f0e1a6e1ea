/* One frame of a recorded stack, taken apart: `File /job/model.py, line 14, in forward, \n x = …`. */

export interface Frame {
  file: string;
  number: string;
  scope: string;
  code: string;
  /** Code of an installed package, not the person's own. */
  library: boolean;
}

const LIBRARY = /[\\/](?:site|dist)-packages[\\/]|[\\/]lib[\\/]python3/;
const FRAME = /^\s*File "?(.+?)"?, line (\d+), in ([^,\n]+),?\s*([\s\S]*)$/;

/** The parts of a frame, its code as the command quotes it (in one line, one space for several); a line of another form is
 * shown whole. */
export function parseFrame(line: string): Frame {
  const match = FRAME.exec(line);
  if (!match) return { file: line.trim(), number: "", scope: "", code: "", library: false };
  const [, file = "", number = "", scope = "", code = ""] = match;
  return { file, number, scope: scope.trim(), code: code.trim().replace(/\s+/g, " "), library: LIBRARY.test(file) };
}
