/* The table of values, each with all its measures when unfolded, and where it came from. */

import { type CSSProperties, type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";

import type { Flow, FlowLink, Side, ValuePair } from "../../api/types";
import { type Column, keyOf } from "../../state/columns";
import { MeasureTable } from "./MeasureTable";
import { ShardTable } from "./ShardTable";
import { ValueRow } from "./ValueRow";

interface Props {
  values: ValuePair[];
  columns: Column[];
  /** Whether there is another run, and so a score. */
  scored: boolean;
  /** What fed the node and what it fed; without it no row says where its value came from. */
  flow?: Flow | undefined;
  /** The side whose values the flow speaks of. */
  side?: Side;
  /** The node of the values; without it none opens into its ranks. */
  node?: number;
  /** A value of another node that tells what the rest cannot, with what says so. */
  first?: { value: ValuePair; head: ReactNode; of: string } | null;
}

export function ValueTable({ values, columns, scored, flow, side = "problem", node, first }: Props) {
  const { t } = useTranslation();
  return (
    <table className="value-table" style={{ "--numbers": Math.max(LEAST_NUMBERS, columns.length) } as CSSProperties}>
      <thead>
        <tr>
          <th scope="col">{t("details.value")}</th>
          <th scope="col">{t("details.dtype")}</th>
          <th scope="col">{t("details.shape")}</th>
          {columns.map(({ key }) => (
            <th key={key} scope="col" className={`number ${key}`}>
              {t(`details.${key}`)}
            </th>
          ))}
          {scored && (
            <th scope="col" className="number">
              {t("details.score")}
            </th>
          )}
        </tr>
      </thead>
      {first && (
        <tbody className="instead">
          <tr>
            <th colSpan={4 + columns.length} scope="rowgroup">
              {first.head}
            </th>
          </tr>
          <Row value={first.value} columns={columns} scored={scored} ends={[]} of={first.of} />
        </tbody>
      )}
      <tbody>
        {values.map((value) => (
          <Row
            key={keyOf(value)}
            value={value}
            columns={columns}
            scored={scored}
            ends={endsOf(value, flow, side)}
            node={node}
          />
        ))}
      </tbody>
    </table>
  );
}

/** Columns of a value beside a graph, where its numbers stand below its name. */
const LEAST_NUMBERS = 4;

interface RowProps {
  value: ValuePair;
  columns: Column[];
  scored: boolean;
  ends: readonly FlowLink[];
  node?: number | undefined;
  /** Whose value it is, where it is not of the selected node. */
  of?: string;
}

/** A value, and below it, when unfolded, all its measures and its ranks. */
function Row({ value, columns, scored, ends, node, of }: RowProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <ValueRow value={value} columns={columns} scored={scored} ends={ends} of={of} open={open} toggle={() => setOpen(!open)} />
      {open && (
        <tr className="measures">
          <td colSpan={4 + columns.length}>
            <MeasureTable value={value} />
            {node !== undefined && <ShardTable node={node} value={value} />}
          </td>
        </tr>
      )}
    </>
  );
}

/** The other ends of a value's rails: who made an input, who reads the outputs. */
function endsOf({ role, ...sides }: ValuePair, flow: Flow | undefined, side: Side): FlowLink[] {
  if (!flow) return [];
  if (role === "output" || role === "parameters_grad") return flow.consumers;
  return flow.producers.filter(({ value }) => value === sides[side]?.id);
}
