/* A line for the terminal, with a button that copies it. */

import { useTranslation } from "react-i18next";

import { CopyButton } from "./CopyButton";

export function Command({ text }: { text: string }) {
  const { t } = useTranslation();
  return (
    <p className="command">
      <code>{text}</code>
      <CopyButton text={text} label={t("copy")} />
    </p>
  );
}
