/* Nodes without a partner, why, and a button that takes one for a manual mapping. */

import { Plus } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { Side } from "../api/types";
import { useDatabase } from "../hooks/useDatabase";
import { matchText } from "../i18n/reason";
import { pickNode } from "../state/actions";
import { NodeRows } from "./NodeRows";
import { SideFilter } from "./SideFilter";

export function UnmatchedList() {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const [side, setSide] = useState<Side | "">("");
  if (!data) return <p className="message">{t("loading")}</p>;
  if (!data.comparison) return <p className="message">{t("lists.unmatchedSingle")}</p>;
  return (
    <>
      <SideFilter side={side} change={setSide} />
      <NodeRows
        query={{ show: "unmatched", side, sort: "order" }}
        empty={t("lists.unmatchedNone")}
        aside={(node) => (
          <>
            {node.match_reason !== null && (
              <span className="tag brief" title={matchText(t, node.match_reason)}>
                {matchText(t, node.match_reason)}
              </span>
            )}
            {data.writable && (
              <button
                type="button"
                className="icon small"
                aria-label={t("mapping.pick", { name: node.name })}
                title={t("mapping.pick", { name: node.name })}
                onClick={() => pickNode(node)}
              >
                <Plus aria-hidden size={15} />
              </button>
            )}
          </>
        )}
      />
    </>
  );
}
