/* The calls that one run alone makes and no cause names: they may be a fault of their own. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { Cause } from "../../api/types";
import { calledAs } from "../../graph/called";
import { selectNode } from "../../state/actions";
import { useUnnamedCalls } from "../../hooks/useUnnamedCalls";

/** Calls that are named before "more" is asked for. */
const NAMED = 6;

export function AloneCalls({ causes }: { causes: readonly Cause[] }) {
  const { t } = useTranslation();
  const calls = useUnnamedCalls(causes);
  const [limit, setLimit] = useState(NAMED);
  if (calls.length === 0) return null;
  return (
    <section className="finding perhaps">
      <h2>{t("findings.perhaps")}</h2>
      {t("notes.alone")}{" "}
      {calls.slice(0, limit).map((node, index) => (
        <span key={node.id}>
          {index > 0 && t("facts.comma")}
          <button type="button" className="link mono" onClick={() => void selectNode(node.id)}>
            {calledAs(node)}
          </button>{" "}
          <span className="muted">{t(`diff.word.only_${node.side}`)}</span>
        </span>
      ))}
      {calls.length > limit && (
        <>
          {t("facts.comma")}
          <button type="button" className="link" onClick={() => setLimit(calls.length)}>
            {t("findings.more", { count: calls.length - limit })}
          </button>
        </>
      )}
    </section>
  );
}
