/* The names beside the heat map; choosing a step leaves them as they are drawn. */

import { ChevronDown, ChevronRight } from "lucide-react";
import { memo } from "react";

import type { TrendRow } from "../../api/trends";
import { belowName, seriesOf } from "../../state/trends";

interface Props {
  rows: readonly TrendRow[];
  /** The place of the first of them among all rows, and that of the cursor. */
  offset: number;
  cursor: number;
  kind: string;
  chosen: readonly string[];
  top: number;
  act: (row: number) => void;
}

export const HeatNames = memo(function HeatNames({ rows, offset, cursor, kind, chosen, top, act }: Props) {
  return (
    <ul className="trend-names" style={{ top }}>
      {rows.map((of, index) => (
        <HeatName
          key={`${of.name}${of.target ?? ""}${String(offset + index)}`}
          {...{ of, act }}
          at={offset + index}
          drawn={of.target !== null && chosen.includes(seriesOf(kind, of.target))}
          current={offset + index === cursor}
        />
      ))}
    </ul>
  );
});

interface NameProps {
  of: TrendRow;
  at: number;
  drawn: boolean;
  current: boolean;
  act: (row: number) => void;
}

/** One of them, drawn anew when something of its own changes. */
const HeatName = memo(function HeatName({ of, at, drawn, current, act }: NameProps) {
  return (
    <li>
      <button
        type="button"
        className={["trend-name", drawn ? "drawn" : "", current ? "current" : ""].filter(Boolean).join(" ")}
        style={{ paddingInlineStart: 4 + of.depth * 10 }}
        title={of.name}
        aria-expanded={of.leaves > 1 || of.open ? of.open : undefined}
        onClick={() => act(at)}
      >
        {of.leaves > 1 && (of.open ? <ChevronDown aria-hidden size={11} /> : <ChevronRight aria-hidden size={11} />)}
        {belowName(of)}
        {of.leaves > 1 && !of.open && <span className="muted"> {of.leaves}</span>}
      </button>
    </li>
  );
});
