/* How much room there is: in small windows, and at 200 % zoom, the page puts its tools away. */

import { create } from "zustand";

import { useApp } from "./store";

export interface Layout {
  /** Header in one line, the answer in few, the lists put away. */
  compact: boolean;
  /** So little height that the values of what is selected would not be in view. */
  low: boolean;
  /** So much width that what is known of a box stands beside the graph, which is high. */
  wide: boolean;
  /** Whether the lists stand beside the rows. */
  lists: boolean;
  setLists: (lists: boolean) => void;
}

const SMALL = "(max-width: 900px), (max-height: 560px)";
const LOW = "(max-height: 480px)";
const NARROW = "(max-width: 900px)";
const WIDE = "(min-width: 1200px)";

export const useLayout = create<Layout>()((set) => ({
  compact: window.matchMedia(SMALL).matches,
  low: window.matchMedia(LOW).matches,
  wide: window.matchMedia(WIDE).matches,
  lists: !window.matchMedia(NARROW).matches,
  setLists: (lists) => set({ lists }),
}));

/** Follow the window's size, and show the lists when one of them is asked for. */
export function followWindow(): () => void {
  const stop = new AbortController();
  const follow = (query: string, take: (matches: boolean) => Partial<Layout>): void => {
    const list = window.matchMedia(query);
    useLayout.setState(take(list.matches));
    list.addEventListener("change", ({ matches }) => useLayout.setState(take(matches)), { signal: stop.signal });
  };
  follow(SMALL, (compact) => ({ compact }));
  follow(LOW, (low) => ({ low }));
  follow(WIDE, (wide) => ({ wide }));
  follow(NARROW, (narrow) => ({ lists: !narrow }));
  const leave = useApp.subscribe((now, before) => {
    const asked = now.leftTab !== before.leftTab || now.query !== before.query;
    if (asked && now.db === before.db) useLayout.setState({ lists: true });
  });
  return () => {
    leave();
    stop.abort();
  };
}
