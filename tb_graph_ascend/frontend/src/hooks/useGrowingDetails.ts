/* In a tall window the panel below is as high as its content, within bounds, until somebody sets its height. */

import { useCallback, useEffect, useRef } from "react";
import { usePanelRef } from "react-resizable-panels";

import { useApp } from "../state/store";

/** Pixels: a head and eight values. */
export const LEAST_DETAILS = 300;
/** Of the window: the rows keep the larger part. */
const MOST_SHARE = 0.4;
const TALL = 1100;

export function isTall(): boolean {
  return window.innerHeight > TALL;
}

export function useGrowingDetails() {
  const panel = usePanelRef();
  const kept = useRef(false);
  const tab = useApp((state) => state.bottomTab);
  const selected = useApp((state) => state.selected);
  useEffect(() => {
    const bottom = document.querySelector(".panel.bottom");
    if (!bottom) return undefined;
    const grow = (): void => {
      if (kept.current || !isTall()) return;
      const wanted = heightOf(bottom);
      if (wanted !== null) panel.current?.resize(`${Math.min(window.innerHeight * MOST_SHARE, Math.max(LEAST_DETAILS, wanted))}px`);
    };
    // Values arrive later than what is selected, charts later than values.
    const watch = new MutationObserver(() => window.requestAnimationFrame(grow));
    watch.observe(bottom, { childList: true, subtree: true });
    grow();
    return () => watch.disconnect();
  }, [panel, tab, selected]);
  const keep = useCallback((): void => {
    kept.current = true;
  }, []);
  return { panel, keep };
}

/** What head and content need; null while there is nothing, and for charts, which fill any height. */
function heightOf(bottom: Element): number | null {
  const content = bottom.querySelector('.panel-content[data-state="active"] > .scroll, .panel-content[data-state="active"]');
  const head = bottom.querySelector(".bottom-head")?.getBoundingClientRect().height ?? 0;
  if (!content || content.childElementCount === 0) return null;
  if (content.scrollHeight > content.clientHeight + 1) return head + content.scrollHeight + 12;
  if (content.querySelector(".plot")) return null;
  const top = content.getBoundingClientRect().top;
  const ends = Array.from(content.children, (child) => child.getBoundingClientRect().bottom);
  return head + Math.max(...ends) - top + content.scrollTop + 12;
}
