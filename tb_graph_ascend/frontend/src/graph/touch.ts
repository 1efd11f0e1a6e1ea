/* How fingers are read, the same on all of the page. */

/** A finger that rests as long takes hold or asks; one that moves on before scrolls. */
export const LONG_PRESS_MS = 350;
export const FINGER_PX = 10;
