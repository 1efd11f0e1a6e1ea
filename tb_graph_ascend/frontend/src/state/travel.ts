/* Goes where a link, Back or Forward lead to; what is not there any more is said, not replaced. */

import type { DatabaseEntry } from "../api/types";
import { leave, openDatabase, selectNode } from "./actions";
import { useBoxes } from "./boxes";
import { useApp } from "./store";
import type { Linked } from "./url";

/** Start from a link: its database, else the newest that can be opened. */
export function startFrom(linked: Linked, listed: readonly DatabaseEntry[]): Promise<void> {
  takeOver(linked);
  if (linked.db === null) {
    const newest = listed.find(({ error }) => error === null);
    return newest ? openDatabase(newest.id) : Promise.resolve();
  }
  const found = listed.find(({ id }) => id === linked.db);
  if (found) return openDatabase(found.id, linked);
  leave({ db: null, gone: { what: "database", name: pathOf(linked.db) } });
  return Promise.resolve();
}

/** Show an earlier or later state of this page. */
export async function travelTo(linked: Linked): Promise<void> {
  takeOver(linked);
  const { db, step, rank, set } = useApp.getState();
  if (linked.db === null) return;
  const elsewhere = linked.db !== db || linked.step !== step || linked.rank !== rank;
  if (elsewhere) await openDatabase(linked.db, linked);
  else if (linked.selected === null) set({ selected: null });
  else await selectNode(linked.selected);
  if (!elsewhere) useBoxes.setState({ module: linked.graph === 0 ? null : linked.graph, open: linked.boxes });
}

function takeOver(linked: Linked): void {
  const { recolour, leftTab, bottomTab, query, table } = linked;
  useApp.getState().set({ recolour, leftTab, bottomTab, query, table });
}

/** The path that a database's token stands for, as people know the file. */
function pathOf(token: string): string {
  try {
    const raw = atob(token.replaceAll("-", "+").replaceAll("_", "/"));
    const text = new TextDecoder().decode(Uint8Array.from(raw, (byte) => byte.charCodeAt(0)));
    return text.slice(text.indexOf("/") + 1);
  } catch {
    return token;
  }
}
