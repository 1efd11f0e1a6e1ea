/* Tells when focus or pointer leave an element, so that what popped up in it can close. */

import { type RefObject, useEffect } from "react";

export function useLeave(element: RefObject<HTMLElement | null>, left: () => void): void {
  useEffect(() => {
    const stop = new AbortController();
    const check = (target: EventTarget | null): void => {
      if (!(target instanceof Node) || !element.current?.contains(target)) left();
    };
    const { signal } = stop;
    element.current?.addEventListener(
      "focusout",
      ({ relatedTarget }) => relatedTarget && check(relatedTarget),
      { signal },
    );
    document.addEventListener("pointerdown", ({ target }) => check(target), { signal });
    return () => stop.abort();
  }, [element, left]);
}
