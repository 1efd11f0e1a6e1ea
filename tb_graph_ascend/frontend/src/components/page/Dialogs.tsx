/* The dialogs, in the browser's own modal element: focus stays inside, Escape closes. */

import { type ReactNode, useEffect, useRef } from "react";
import { X } from "lucide-react";
import { useTranslation } from "react-i18next";

import { useApp } from "../../state/store";
import { BuildForm } from "../build/BuildForm";
import { HelpContent } from "./HelpContent";

export function Dialogs() {
  const { t } = useTranslation();
  const dialog = useApp((state) => state.dialog);
  if (dialog === "help") return <Modal title={t("help.title")}>{<HelpContent />}</Modal>;
  if (dialog === "build") return <Modal title={t("header.build")}>{<BuildForm />}</Modal>;
  return null;
}

function Modal({ title, children }: { title: string; children: ReactNode }) {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog
      ref={element}
      className="dialog"
      aria-labelledby="dialog-title"
      onClose={() => set({ dialog: null })}
    >
      <header>
        <h2 id="dialog-title">{title}</h2>
        <button
          type="button"
          className="icon"
          aria-label={t("close")}
          onClick={() => element.current?.close()}
        >
          <X aria-hidden size={17} />
        </button>
      </header>
      {children}
    </dialog>
  );
}
