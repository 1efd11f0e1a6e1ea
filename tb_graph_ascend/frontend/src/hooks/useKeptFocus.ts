/* What takes the place of the rows or the graph takes their focus over, so that the keys go on. */

import { type RefObject, useLayoutEffect } from "react";

import { takeAskedFocus } from "../state/askedfocus";

/** Whether what is going away had the focus. */
let hadFocus = false;

export function useKeptFocus(region: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = region.current;
    const isAsked = takeAskedFocus();
    if ((hadFocus || isAsked) && document.activeElement === document.body) element?.focus({ preventScroll: true });
    hadFocus = false;
    return () => {
      hadFocus = element?.contains(document.activeElement) ?? false;
    };
  }, [region]);
}
