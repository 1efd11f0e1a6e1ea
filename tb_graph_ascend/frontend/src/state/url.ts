/* The whole state as a query string, and back. Defaults are left out, so links stay short. */

import { type AppState, BOTTOM_TABS, LEFT_TABS, TABLE_ORDER, type TableOrder } from "./store";

/** What a link carries besides the store's own fields. */
export interface Linked {
  db: string | null;
  /** When the file was built: node ids mean nothing in a file that was built anew. */
  built: string | null;
  step: number | null;
  rank: number | null;
  microStep: number | null;
  selected: number | null;
  recolour: AppState["recolour"];
  leftTab: AppState["leftTab"];
  bottomTab: AppState["bottomTab"];
  query: string;
  table: TableOrder;
  /** Which rows are open, as the server writes it. */
  open: string;
  /** A node of the module that is shown as a graph, and the boxes that are open in it. */
  graph: number | null;
  boxes: number[];
  /** That graph runs from left to right. */
  across: boolean;
  /** Scale and top left corner of the problem pane. */
  view: { scale: number; x: number; y: number } | null;
}

const SCOPES: readonly TableOrder["scope"][] = ["pair", "rank", "all"];
const SORTS: readonly TableOrder["sort"][] = ["order", "score", "introduced", "name"];

/** The query string of a state, without "?". */
export function toQuery(linked: Linked): string {
  const { table, view } = linked;
  const fields: Record<string, string | number | null> = {
    db: linked.db,
    built: linked.built,
    step: linked.step,
    rank: linked.rank,
    micro: linked.microStep,
    node: linked.selected,
    colour: linked.recolour === "score" ? null : linked.recolour,
    list: linked.leftTab === "causes" ? null : linked.leftTab,
    panel: linked.bottomTab === "values" ? null : linked.bottomTab,
    q: linked.query || null,
    scope: table.scope === TABLE_ORDER.scope ? null : table.scope,
    sort: table.sort === TABLE_ORDER.sort ? null : table.sort,
    desc: table.descending ? 1 : null,
    open: linked.open || null,
    graph: linked.graph,
    boxes: linked.boxes.join(".") || null,
    flow: linked.across ? "right" : null,
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
    built: query.get("built"),
    step: integer(query.get("step")),
    rank: integer(query.get("rank")),
    microStep: integer(query.get("micro")),
    selected: integer(query.get("node")),
    recolour: word("colour") === "overflow" ? "overflow" : "score",
    leftTab: oneOf(LEFT_TABS, word("list"), "causes"),
    bottomTab: oneOf(BOTTOM_TABS, word("panel"), "values"),
    query: word("q"),
    table: {
      scope: oneOf(SCOPES, word("scope"), TABLE_ORDER.scope),
      sort: oneOf(SORTS, word("sort"), TABLE_ORDER.sort),
      descending: query.get("desc") === "1",
    },
    open: word("open"),
    graph: integer(query.get("graph")),
    boxes: /^\d+(\.\d+)*$/.test(word("boxes")) ? word("boxes").split(".").map(Number) : [],
    across: word("flow") === "right",
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
