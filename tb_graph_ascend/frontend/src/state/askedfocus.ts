/* Whether a key asked for what comes to the screen next: it takes the focus then, wherever that is on the page. */

let asked = false;

export function askFocus(): void {
  asked = true;
}

/** Whether it was asked for, once. */
export function takeAskedFocus(): boolean {
  const was = asked;
  asked = false;
  return was;
}
