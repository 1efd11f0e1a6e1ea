/* The keys of the whole page; they rest while one types or a dialog is open. */

import { useEffect } from "react";

import { runShortcut } from "../state/shortcuts";
import { useApp } from "../state/store";
import { useTrends } from "../state/trends";

const EVERYWHERE = ["?", "i"];

export function useShortcuts(): void {
  useEffect(() => {
    window.addEventListener("keydown", handle);
    return () => window.removeEventListener("keydown", handle);
  }, []);
}

function handle(event: KeyboardEvent): void {
  if (useApp.getState().dialog !== null || event.defaultPrevented) return;
  const chord = chordOf(event);
  // Most keys are those of the comparison; the heat map of trends has its own.
  if (useTrends.getState().run !== null && !EVERYWHERE.includes(chord)) return;
  const typing = isTyping(event.target);
  if (typing && chord !== "ctrl+k") return;
  if (runShortcut(chord, onControl(event.target))) event.preventDefault();
}

/** Modifiers and key, e.g. "ctrl+shift+z"; Shift is left out where the key shows it ("?"). */
function chordOf(event: KeyboardEvent): string {
  const key = event.key.toLowerCase();
  const ctrl = event.ctrlKey || event.metaKey ? "ctrl+" : "";
  const shift = event.shiftKey && (ctrl !== "" || key.startsWith("arrow")) ? "shift+" : "";
  return event.altKey ? `alt+${key}` : `${ctrl}${shift}${key}`;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.matches("input:not([type=checkbox]), textarea, select") || target.isContentEditable)
  );
}

/** Enter and arrows belong to buttons, tabs and lists that have the focus. */
function onControl(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest("button, a, [role=tree], [role=grid], [role=tab], [role=separator], summary, input") !== null
  );
}
