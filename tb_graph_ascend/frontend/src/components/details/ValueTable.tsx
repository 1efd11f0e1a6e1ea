/* The table of values, each with all its measures when unfolded, and where it came from. */

import { Fragment, useState } from "react";
import { useTranslation } from "react-i18next";

import type { Flow, FlowLink, Side, ValuePair } from "../../api/types";
import type { Column } from "../../state/columns";
import { MeasureTable } from "./MeasureTable";
import { ShardTable } from "./ShardTable";
import { ValueRow } from "./ValueRow";

interface Props {
  values: ValuePair[];
  columns: Column[];
  /** What fed the node and what it fed; without it no row says where its value came from. */
  flow?: Flow | undefined;
  /** The side whose values the flow speaks of. */
  side?: Side;
  /** The node of the values; without it none opens into its ranks. */
  node?: number;
  className?: string;
}

export function ValueTable({ values, columns, flow, side = "problem", node, className = "value-table" }: Props) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (key: string): void => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  return (
    <table className={className}>
      <thead>
        <tr>
          <th scope="col">{t("details.value")}</th>
          <th scope="col">{t("details.dtype")}</th>
          <th scope="col">{t("details.shape")}</th>
          {columns.map(({ key }) => (
            <th key={key} scope="col" className="number">
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
                ends={endsOf(value, flow, side)}
                open={open.has(key)}
                toggle={() => toggle(key)}
              />
              {open.has(key) && (
                <tr className="measures">
                  <td colSpan={4 + columns.length}>
                    <MeasureTable value={value} />
                    {node !== undefined && <ShardTable node={node} value={value} />}
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

/** The other ends of a value's rails: who made an input, who reads the outputs. */
function endsOf({ role, ...sides }: ValuePair, flow: Flow | undefined, side: Side): FlowLink[] {
  if (!flow) return [];
  if (role === "output" || role === "parameters_grad") return flow.consumers;
  return flow.producers.filter(({ value }) => value === sides[side]?.id);
}
