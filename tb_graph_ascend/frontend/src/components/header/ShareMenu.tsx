/* Link, pictures and tables to hand on. */

import { Share2 } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { isServed } from "../../api/client";
import { useLeave } from "../../hooks/useLeave";
import { useShareActions } from "../../hooks/useShareActions";

export function ShareMenu() {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const shut = useCallback(() => setOpen(false), []);
  const box = useRef<HTMLDivElement>(null);
  useLeave(box, shut);
  const menu = useRef<HTMLDivElement>(null);
  const groups = useShareActions();
  useEffect(() => {
    if (open) menu.current?.querySelector("button")?.focus();
  }, [open]);
  const label = t("header.share");
  return (
    <div className="menu" ref={box}>
      <button
        type="button"
        className="icon"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Share2 aria-hidden size={17} />
      </button>
      {open && (
        // Menu keys: arrows move, Escape closes; the items are buttons.
        <div
          className="menu-list"
          role="menu"
          tabIndex={-1}
          aria-label={label}
          ref={menu}
          onKeyDown={(event) => {
            if (event.key === "Escape") setOpen(false);
            else if (event.key === "ArrowDown") focusBy(menu.current, 1);
            else if (event.key === "ArrowUp") focusBy(menu.current, -1);
            else return;
            event.preventDefault();
            event.stopPropagation();
          }}
        >
          {groups.map((actions, index) => (
            <div key={index} role="group" className="menu-group">
              {actions.map(({ key, label: text, run }) => (
                <button
                  key={key}
                  type="button"
                  role="menuitem"
                  disabled={run === null}
                  onClick={() => {
                    setOpen(false);
                    run?.();
                  }}
                >
                  {text}
                </button>
              ))}
            </div>
          ))}
          {!isServed() && <p className="menu-note">{t("offline.share")}</p>}
        </div>
      )}
    </div>
  );
}

function focusBy(menu: HTMLElement | null, shift: number): void {
  const items = [...(menu?.querySelectorAll<HTMLButtonElement>("button:enabled") ?? [])];
  const index = items.findIndex((item) => item === document.activeElement);
  items[(index + shift + items.length) % items.length]?.focus();
}
