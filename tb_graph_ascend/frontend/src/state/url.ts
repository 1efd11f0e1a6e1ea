/* The whole state as a query string, and back. Defaults are left out, so links stay short. */

import type { Side } from "../api/types";
import {
  type AppState,
  BOTTOM_TABS,
  type FindingFilter,
  LEFT_TABS,
  NO_FILTER,
} from "./store";

/** What a link carries besides the store's own fields. */
export interface Linked {
  db: string | null;
  step: number | null;
  rank: number | null;
  microStep: number | null;
  selected: number | null;
  sync: boolean;
  recolour: AppState["recolour"];
  leftTab: AppState["leftTab"];
  bottomTab: AppState["bottomTab"];
  query: string;
  regex: boolean;
  outlineSide: Side;
  filter: FindingFilter;
  /** Open nodes of either side, as `openshape` writes them. */
  open: Record<Side, string>;
  /** Scale and top left corner of the problem pane. */
  view: { scale: number; x: number; y: number } | null;
}

const SORTS: readonly FindingFilter["sort"][] = [
  "diagnosis",
  "score",
  "introduced",
  "order",
  "name",
];

/** The query string of a state, without "?". */
export function toQuery(linked: Linked): string {
  const { filter, view } = linked;
  const fields: Record<string, string | number | null> = {
    db: linked.db,
    step: linked.step,
    rank: linked.rank,
    micro: linked.microStep,
    node: linked.selected,
    sync: linked.sync ? null : 0,
    colour: linked.recolour === "score" ? null : linked.recolour,
    list: linked.leftTab === "divergences" ? null : linked.leftTab,
    panel: linked.bottomTab === "values" ? null : linked.bottomTab,
    q: linked.query || null,
    regex: linked.regex ? 1 : null,
    outline: linked.outlineSide === "problem" ? null : linked.outlineSide,
    min: filter.minScore || null,
    verdict: filter.verdict || null,
    direction: filter.direction || null,
    kind: filter.kind || null,
    name: filter.name || null,
    sort: filter.sort === "diagnosis" ? null : filter.sort,
    open: linked.open.problem || null,
    openb: linked.open.benchmark || null,
    view: view && `${round(view.scale, 4)},${round(view.x, 1)},${round(view.y, 1)}`,
  };
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(fields)) {
    if (value !== null) query.set(key, String(value));
  }
  return query.toString();
}

/** Read a query string; what is unknown or malformed falls back to its default. */
export function fromQuery(text: string): Linked {
  const query = new URLSearchParams(text);
  const word = (key: string): string => query.get(key) ?? "";
  return {
    db: query.get("db"),
    step: integer(query.get("step")),
    rank: integer(query.get("rank")),
    microStep: integer(query.get("micro")),
    selected: integer(query.get("node")),
    sync: query.get("sync") !== "0",
    recolour: word("colour") === "overflow" ? "overflow" : "score",
    leftTab: oneOf(LEFT_TABS, word("list"), "divergences"),
    bottomTab: oneOf(BOTTOM_TABS, word("panel"), "values"),
    query: word("q"),
    regex: query.get("regex") === "1",
    outlineSide: word("outline") === "benchmark" ? "benchmark" : "problem",
    filter: {
      minScore: Math.min(1, Math.max(0, Number(word("min")) || 0)),
      verdict: oneOf(["", "pass", "warning", "error"], word("verdict"), NO_FILTER.verdict),
      direction: oneOf(["", "forward", "backward"], word("direction"), NO_FILTER.direction),
      kind: oneOf(["", "module", "api"], word("kind"), NO_FILTER.kind),
      name: word("name"),
      sort: oneOf(SORTS, word("sort"), "diagnosis"),
    },
    open: { problem: word("open"), benchmark: word("openb") },
    view: viewOf(word("view")),
  };
}

function oneOf<Choice extends string>(
  choices: readonly Choice[],
  value: string,
  fallback: Choice,
): Choice {
  return choices.find((choice) => choice === value) ?? fallback;
}

function integer(text: string | null): number | null {
  return text !== null && /^-?\d{1,15}$/.test(text) ? Number(text) : null;
}

function viewOf(text: string): Linked["view"] {
  const [scale, x, y] = text.split(",").map(Number);
  if (scale === undefined || x === undefined || y === undefined) return null;
  return [scale, x, y].every(Number.isFinite) && scale > 0 ? { scale, x, y } : null;
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
