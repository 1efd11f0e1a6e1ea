/* The graph session on screen; re-renders when nodes are loaded or coloured anew. */

import { useSyncExternalStore } from "react";

import type { GraphSession } from "../state/session";
import { useApp } from "../state/store";

const nothing = (): (() => void) => () => undefined;

export function useSession(): GraphSession | null {
  const session = useApp((state) => state.session);
  useSyncExternalStore(session?.subscribe ?? nothing, () => session?.version ?? 0);
  return session;
}
