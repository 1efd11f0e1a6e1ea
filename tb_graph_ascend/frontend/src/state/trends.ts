/* What is looked at in the trends: one record, all of it in the address. */

import { create } from "zustand";

import { STATISTICS, type Statistic } from "../api/trends";

export interface TrendPlace {
  /** The run on screen; null while the trends are not shown. */
  run: string | null;
  other: string | null;
  kind: string | null;
  statistic: Statistic;
  /** Open modules; null until the first answer says which. */
  open: string[] | null;
  /** The series of the lines, `kind/name`; the first is the one under the cursor. */
  chosen: string[];
  step: number | null;
  first: number | null;
  last: number | null;
  absolute: boolean;
  table: boolean;
  /** Small lines instead of the heat map. */
  multiples: boolean;
}

export interface TrendState extends TrendPlace {
  set: (change: Partial<TrendPlace>) => void;
}

export const NOWHERE: TrendPlace = {
  run: null,
  other: null,
  kind: null,
  statistic: "norm",
  open: null,
  chosen: [],
  step: null,
  first: null,
  last: null,
  absolute: false,
  table: false,
  multiples: false,
};

const MOST_CHOSEN = 8;

export const useTrends = create<TrendState>()((set) => ({ ...NOWHERE, set }));

/** So many steps one looks at closer, the most first. */
const ZOOMS = [100, 20, 5];

/** How many steps a closer look at a range holds: fewer than it has; null where it has few. */
export function zoomedSteps(first: number, last: number): number | null {
  return ZOOMS.find((count) => 2 * count <= last - first + 1) ?? null;
}

/** So many steps around one, all of them within `bounds`. */
export function rangeAround(step: number, count: number, bounds: { first: number; last: number }): { first: number; last: number } {
  const first = Math.max(bounds.first, Math.min(step - Math.floor(count / 2), bounds.last - count + 1));
  return { first, last: first + count - 1 };
}

/** Show a series in the lines, or take it away; the newest comes first. */
export function toggled(chosen: readonly string[], series: string): string[] {
  const rest = chosen.filter((one) => one !== series);
  return rest.length < chosen.length ? rest : [series, ...chosen].slice(0, MOST_CHOSEN);
}

/** Show a series in the lines, in front of the others. */
export function drawnFirst(chosen: readonly string[], series: string): string[] {
  return [series, ...chosen.filter((one) => one !== series)].slice(0, MOST_CHOSEN);
}

/** The modules to be open so that a series has a row of its own. */
export function openTo(open: readonly string[], name: string): string[] {
  const parts = name.split(".");
  const above = parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join("."));
  return [...open, ...above.filter((module) => !open.includes(module))];
}

/** A row's name below the row that it stands under: `down.weight`, where `weight` would be said of all. */
export function belowName({ name, depth }: { name: string; depth: number }): string {
  return name.split(".").slice(depth).join(".");
}

/** Whether two series are of one module: `layers.0.down`, and its `layers.0.down.weight`. */
export function ofOneModule(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return long === short || (long.startsWith(`${short}.`) && !long.slice(short.length + 1).includes("."));
}

/** What another kind of series changes: rows, and what was chosen is led to again among them. */
export function kindChosen(kind: string, { open, chosen }: { open: readonly string[] | null; chosen: readonly string[] }): Partial<TrendPlace> {
  const [lead] = chosen;
  if (lead === undefined || open === null) return { kind };
  return { kind, open: openTo(open, `${partsOf(lead).name}.`) };
}

/** What pressing a row changes: a module opens or closes, a series is drawn or taken away. */
export function rowPressed(
  row: { name: string; target: string | null },
  { kind, open, chosen }: { kind: string; open: readonly string[]; chosen: readonly string[] },
): Partial<TrendPlace> {
  if (row.target !== null) return { chosen: toggled(chosen, seriesOf(kind, row.target)) };
  return { open: open.includes(row.name) ? open.filter((name) => name !== row.name) : [...open, row.name] };
}

/** The series of a row and a kind, and back. */
export const seriesOf = (kind: string, name: string): string => `${kind}/${name}`;

export function partsOf(series: string): { kind: string; name: string } {
  const at = series.indexOf("/");
  return { kind: series.slice(0, at), name: series.slice(at + 1) };
}

/** The query string of a place, without "?". */
export function toTrendQuery(place: TrendPlace): string {
  const query = new URLSearchParams();
  const fields: Record<string, string | number | null> = {
    trend: place.run,
    other: place.other,
    kind: place.kind,
    stat: place.statistic === "norm" ? null : place.statistic,
    step: place.step,
    from: place.first,
    to: place.last,
    open: place.open === null ? null : place.open.join(","),
    scale: place.absolute ? "absolute" : null,
    as: place.table ? "table" : null,
    view: place.multiples ? "multiples" : null,
  };
  for (const [key, value] of Object.entries(fields)) if (value !== null) query.set(key, String(value));
  for (const series of place.chosen) query.append("line", series);
  return query.toString();
}

/** Read a query string; null when it is not one of the trends. */
export function fromTrendQuery(text: string): TrendPlace | null {
  const query = new URLSearchParams(text);
  const run = query.get("trend");
  if (run === null) return null;
  const open = query.get("open");
  return {
    run,
    other: query.get("other"),
    kind: query.get("kind"),
    statistic: STATISTICS.find((one) => one === query.get("stat")) ?? "norm",
    open: open === null ? null : open.split(",").filter((name) => name !== ""),
    chosen: query.getAll("line").filter((series) => series.includes("/")).slice(0, MOST_CHOSEN),
    step: integer(query.get("step")),
    first: integer(query.get("from")),
    last: integer(query.get("to")),
    absolute: query.get("scale") === "absolute",
    table: query.get("as") === "table",
    multiples: query.get("view") === "multiples",
  };
}

function integer(text: string | null): number | null {
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : null;
}
