/* Copies a text and says that it did. */

import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { copyText } from "../../text/clipboard";

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
