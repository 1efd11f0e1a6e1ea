/* The table of inputs, parameters and outputs of both sides, the worst first and marked. */

import { Fragment, useState } from "react";
import { useTranslation } from "react-i18next";

import type { NodeDetails, ValuePair } from "../../api/types";
import { useDatabase } from "../../hooks/useDatabase";
import { type Column, columnsFor } from "../../state/columns";
import { MeasureTable } from "./MeasureTable";
import { ReasonList } from "../parts/ReasonList";
import { ShardTable } from "./ShardTable";
import { ValueRow } from "./ValueRow";

export function ValuesPanel({ details }: { details: NodeDetails }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const { node } = details;
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
        <ValueTable node={node.id} values={values} columns={columns} />
      )}
    </div>
  );
}

/** Worst first: by score, and a value without one by whether anything differs. */
function severity({ score, differs }: ValuePair): number {
  return score ?? (differs.length > 0 ? 0 : -1);
}

interface TableProps {
  node: number;
  values: ValuePair[];
  columns: Column[];
}

function ValueTable({ node, values, columns }: TableProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (key: string): void => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  return (
    <table className="value-table">
      <thead>
        <tr>
          <th scope="col">{t("details.value")}</th>
          <th scope="col">{t("details.dtype")}</th>
          <th scope="col">{t("details.shape")}</th>
          {columns.map(({ key, estimate }) => (
            <th key={key} scope="col" className="number" title={estimate && t(`details.${estimate}`)}>
              {estimate && "≈ "}
              {t(`details.${key}`)}
            </th>
          ))}
          <th scope="col" className="number">
            {t("details.score")}
          </th>
        </tr>
      </thead>
      <tbody>
        {values.map((value) => {
          const key = `${value.role}.${value.path}`;
          return (
            <Fragment key={key}>
              <ValueRow
                value={value}
                columns={columns}
                open={open.has(key)}
                toggle={() => toggle(key)}
              />
              {open.has(key) && (
                <tr className="measures">
                  <td colSpan={4 + columns.length}>
                    <MeasureTable value={value} />
                    <ShardTable node={node} value={value} />
                  </td>
                </tr>
              )}
            </Fragment>
          );
        })}
      </tbody>
    </table>
  );
}
