/* What result files are called in a list: those named by the time they were built begin with it, for
 * the end is what a narrow list cuts off. */

const NAMED_BY_TIME = /^(.*?)_(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\.vis\.db$/;

export function resultFileLabel(path: string, now = new Date()): string {
  const [, stem, year, month, day, hour, minute, second] = NAMED_BY_TIME.exec(path) ?? [];
  if (stem === undefined) return path;
  const date = [...(year === String(now.getFullYear()) ? [] : [year]), month, day].join("-");
  return `${date} ${hour}:${minute}:${second} · ${stem}`;
}
