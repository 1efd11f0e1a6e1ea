/* The calls that one run alone makes and no cause names: they have no score, and may be a fault of their own. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { aloneQuery } from "../../api/queries";
import type { Cause } from "../../api/types";
import { calledAs } from "../../graph/called";
import { selectNode } from "../../state/actions";
import { unnamedCalls } from "../../state/causes";
import { useApp } from "../../state/store";

/** Calls that are named; the table has all. */
const NAMED = 6;

export function AloneCalls({ causes }: { causes: readonly Cause[] }) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const step = useApp((state) => state.step);
  const rank = useApp((state) => state.rank);
  const { data } = useQuery({
    ...aloneQuery(db ?? "", step ?? 0, rank ?? 0),
    enabled: db !== null && step !== null && rank !== null,
  });
  const calls = unnamedCalls(causes, data?.rows.map(({ node }) => node) ?? []);
  if (calls.length === 0) return null;
  return (
    <li>
      {t("notes.alone")}{" "}
      {calls.slice(0, NAMED).map((node) => (
        <span key={node.id}>
          <button type="button" className="link mono" onClick={() => void selectNode(node.id)}>
            {calledAs(node)}
          </button>{" "}
          <span className="muted">{t(`diff.word.only_${node.side}`)}</span>{" "}
        </span>
      ))}
      {calls.length > NAMED && <span className="muted">{t("findings.more", { count: calls.length - NAMED })}</span>}
    </li>
  );
}
