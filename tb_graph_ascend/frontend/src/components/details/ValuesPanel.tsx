/* The table of inputs, parameters and outputs of both sides, the worst first and marked. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { flowQuery } from "../../api/queries";
import type { NodeDetails, ValuePair } from "../../api/types";
import { useDatabase } from "../../hooks/useDatabase";
import { useInstead } from "../../hooks/useInstead";
import { columnsFor } from "../../state/columns";
import { useApp } from "../../state/store";
import { ReasonList } from "../parts/ReasonList";
import { InsteadHead } from "./InsteadHead";
import { ValueTable } from "./ValueTable";

export function ValuesPanel({ details }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const { node } = details;
  const db = useApp((state) => state.db);
  const flow = useQuery({ ...flowQuery(db ?? "", node.id), enabled: db !== null }).data;
  const instead = useInstead(node, data?.comparison ? flow : undefined);
  const values = [...details.values].sort((a, b) => severity(b) - severity(a));
  const columns = columnsFor(data?.task ?? "statistics", data?.comparison ?? true);
  return (
    <div className="scroll values">
      {node.reasons.length > 0 && (
        <div className="reasons" aria-label={t("details.reasons")}>
          <ReasonList reasons={node.reasons} />
        </div>
      )}
      {values.length === 0 ? (
        <p className="message">{t("details.noValues")}</p>
      ) : (
        <ValueTable
          values={values}
          columns={columns}
          flow={flow}
          side={node.side}
          node={node.id}
          first={instead && { value: instead.value, head: <InsteadHead node={node} reader={instead.reader} /> }}
        />
      )}
    </div>
  );
}

/** Worst first: by score, and a value without one by whether anything differs. */
function severity({ score, differs }: ValuePair): number {
  return score ?? (differs.length > 0 ? 0 : -1);
}
