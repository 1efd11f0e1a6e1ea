/* The rows of the session on screen; re-renders when something is open or loaded anew. */

import { useSyncExternalStore } from "react";

import type { DiffView } from "../state/diffview";
import type { GraphSession } from "../state/session";

export function useDiff({ diff }: GraphSession): DiffView {
  useSyncExternalStore(diff.subscribe, diff.snapshot);
  return diff;
}
