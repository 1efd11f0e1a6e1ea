/* Goes where a link, Back or Forward lead to; what is not there any more is said, not replaced. */

import type { DatabaseEntry } from "../api/types";
import { leave, openDatabase, selectNode } from "./actions";
import { destination, isArriving } from "./ahead";
import { useBoxes } from "./boxes";
import { useApp } from "./store";
import type { Linked } from "./url";

/** Start from a link, unless something is shown or asked for already; false while there is nothing to start with. */
export function start(linked: Linked, listed: readonly DatabaseEntry[]): boolean {
  const { db, busy } = useApp.getState();
  // A result that was built here, or the comparison of a cell of the trends, comes before the server's list.
  if (db !== null || busy) return true;
  if (linked.db === null && listed.every(({ error }) => error !== null)) return false;
  void startFrom(linked, listed);
  return true;
}

/** Its database, else the newest that can be opened. */
function startFrom(linked: Linked, listed: readonly DatabaseEntry[]): Promise<void> {
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
  if (linked.db === null) return;
  const { db, set } = useApp.getState();
  const { step, rank } = destination();
  if (isArriving() || linked.db !== db || linked.step !== step || linked.rank !== rank) {
    await openDatabase(linked.db, linked);
    return;
  }
  useBoxes.setState({ module: linked.graph === 0 ? null : linked.graph, open: linked.boxes, across: linked.across });
  if (linked.selected === null) set({ selected: null });
  else await selectNode(linked.selected);
}

function takeOver(linked: Linked): void {
  const { recolour, leftTab, bottomTab, query, table } = linked;
  useApp.getState().set({ recolour, leftTab, bottomTab, query, table });
}

/** The path that a database's token stands for, as people know the file; what is no token is told as it was given. */
function pathOf(token: string): string {
  try {
    const raw = atob(token.replaceAll("-", "+").replaceAll("_", "/"));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(raw, (byte) => byte.charCodeAt(0)));
    return TOKEN.exec(text)?.[1] ?? token;
  } catch {
    return token;
  }
}

/** The number of a folder and the path below it, which hold no control characters. */
const TOKEN = /^\d+\/(\P{Cc}+)$/u;
