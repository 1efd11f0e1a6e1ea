/* Copies a text and says that it did. */

import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

const SHOWN_MS = 1500;

export function CopyButton({ text, label }: { text: string; label: string }) {
  const { t } = useTranslation();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = window.setTimeout(() => setCopied(false), SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [copied]);
  const Icon = copied ? Check : Copy;
  const said = copied ? t("copied") : label;
  return (
    <button
      type="button"
      className="icon small"
      aria-label={said}
      title={said}
      onClick={() => void copyText(text).then(() => setCopied(true))}
    >
      <Icon aria-hidden size={14} />
    </button>
  );
}

/** The clipboard, or the old way where a frame or plain http has none. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    // The one way left where the clipboard's interface is missing.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    document.execCommand("copy");
    area.remove();
  }
}
