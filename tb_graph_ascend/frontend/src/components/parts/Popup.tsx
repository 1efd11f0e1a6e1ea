/* A button that shows what has no room on the page, until focus or pointer leave it. */

import { type ReactNode, useCallback, useRef, useState } from "react";

import { useLeave } from "../../hooks/useLeave";

interface Props {
  label: string;
  /** What stands on the button. */
  face: ReactNode;
  className?: string;
  children: ReactNode;
}

export function Popup({ label, face, className = "icon", children }: Props) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const shut = useCallback(() => setOpen(false), []);
  useLeave(box, shut);
  return (
    // Escape closes it, wherever the focus is in it; the controls in it have keys of their own.
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions
    <div
      className="menu"
      ref={box}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !open) return;
        setOpen(false);
        button.current?.focus();
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <button
        type="button"
        ref={button}
        className={className}
        aria-label={label}
        title={label}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {face}
      </button>
      {open && (
        <div className="popup" role="group" aria-label={label}>
          {children}
        </div>
      )}
    </div>
  );
}
