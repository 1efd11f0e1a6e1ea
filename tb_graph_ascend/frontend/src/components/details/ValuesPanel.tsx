/* The table of inputs, parameters and outputs of both sides, the worst first and marked. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { flowQuery } from "../../api/queries";
import type { NodeDetails, ValuePair } from "../../api/types";
import { isUnmatched } from "../../graph/appearance";
import { useDatabase } from "../../hooks/useDatabase";
import { columnsFor } from "../../state/columns";
import { useApp } from "../../state/store";
import { ReasonList } from "../parts/ReasonList";
import { Instead } from "./Instead";
import { ValueTable } from "./ValueTable";

export function ValuesPanel({ details }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const { node } = details;
  const db = useApp((state) => state.db);
  const flow = useQuery({ ...flowQuery(db ?? "", node.id), enabled: db !== null }).data;
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
        />
      )}
      {flow && isUnmatched(node, data?.comparison ?? false) && (
        <Instead details={details} consumers={flow.consumers} columns={columns} />
      )}
    </div>
  );
}

/** Worst first: by score, and a value without one by whether anything differs. */
function severity({ score, differs }: ValuePair): number {
  return score ?? (differs.length > 0 ? 0 : -1);
}
