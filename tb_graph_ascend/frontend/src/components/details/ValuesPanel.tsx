/* The table of inputs, parameters and outputs of both sides, the worst first and marked. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { flowQuery } from "../../api/queries";
import type { NodeDetails, Reason } from "../../api/types";
import { calledAs } from "../../graph/called";
import { useAnswer } from "../../hooks/useAnswer";
import { useDatabase } from "../../hooks/useDatabase";
import { useInstead } from "../../hooks/useInstead";
import { causeAt, causeScoreText, withoutValuesText } from "../../state/causes";
import { columnsFor } from "../../state/columns";
import { useApp } from "../../state/store";
import { worstFirst } from "../../state/worstfirst";
import { begun } from "../../i18n/claim";
import { REASON_KINDS } from "../../i18n/reasonkinds";
import { ReasonList } from "../parts/ReasonList";
import { InsteadHead } from "./InsteadHead";
import { NodeTokenLines } from "./NodeTokenLines";
import { ValueTable } from "./ValueTable";

export function ValuesPanel({ details }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const { node } = details;
  const db = useApp((state) => state.db);
  const flow = useQuery({ ...flowQuery(db ?? "", node.id), enabled: db !== null }).data;
  const instead = useInstead(details, data?.comparison ? flow : undefined);
  const values = worstFirst(details.values);
  const columns = columnsFor(data?.task ?? "statistics", data?.comparison ?? true);
  return (
    <div className="scroll values">
      <Reasons label={t("details.reasons")} reasons={node.reasons.filter((reason) => !isRule(reason))} />
      {values.length === 0 ? (
        <NoValues node={node.id} />
      ) : (
        <ValueTable
          values={values}
          columns={columns}
          scored={data?.comparison ?? true}
          flow={flow}
          side={node.side}
          node={node.id}
          first={instead && { value: instead.value, head: <InsteadHead node={node} reader={instead.reader} />, of: calledAs(instead.reader) }}
        />
      )}
      <NodeTokenLines node={node.id} />
      <Reasons label={t("details.rules")} reasons={node.reasons.filter(isRule)} named />
    </div>
  );
}

/** That nothing was recorded; of a cause what that hides, and what its score is of. */
function NoValues({ node }: { node: number }) {
  const { t } = useTranslation();
  const cause = causeAt(useAnswer().data?.causes ?? [], node);
  const isScored = (cause?.worst ?? null) !== null;
  return (
    <p className="message">
      {cause ? withoutValuesText(t, cause) : t("details.noValues")}{" "}
      {cause && isScored && <span className="muted">{begun(causeScoreText(t, cause)) + t("answer.stop")}</span>}
    </p>
  );
}

/** Reasons of msprobe's verdict: its rules have errors of their own, so they stand behind the score's. */
function isRule({ code }: Reason): boolean {
  return REASON_KINDS[code] === "rule";
}

function Reasons({ label, reasons, named = false }: { label: string; reasons: Reason[]; named?: boolean }) {
  if (reasons.length === 0) return null;
  return (
    <div className="reasons" role="group" aria-label={label}>
      {named && <span className="muted">{label}</span>}
      <ReasonList reasons={reasons} />
    </div>
  );
}
