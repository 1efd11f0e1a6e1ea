/* One module of the outline: open or close, go there, what is in it. */

import { ChevronDown, ChevronRight } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { OutlineRow } from "../../api/types";
import { selectNode } from "../../state/actions";
import type { OutlineView } from "../../state/outline";
import { ScoreChip } from "../parts/ScoreChip";

interface Props {
  index: number;
  row: OutlineRow | undefined;
  start: number;
  height: number;
  outline: OutlineView;
  comparison: boolean;
}

const INDENT = 14;

export function OutlineLine({ index, row, start, height, outline, comparison }: Props) {
  const { t } = useTranslation();
  const style = { transform: `translateY(${start}px)`, height };
  if (!row) {
    return (
      <div role="treeitem" aria-selected={false} tabIndex={-1} className="row" style={style}>
        <span className="muted">{t("outline.unloaded")}</span>
      </div>
    );
  }
  const here = index === outline.here;
  const go = (): void => {
    outline.moveTo(index);
    void selectNode(row.node);
  };
  return (
    <div
      id={`outline-${index}`}
      role="treeitem"
      tabIndex={-1}
      className={["row", here ? "current" : "", index === outline.cursor ? "cursor" : ""].join(" ")}
      aria-level={row.depth + 1}
      aria-posinset={row.position + 1}
      aria-setsize={row.siblings}
      aria-selected={here}
      aria-expanded={row.children > 0 ? row.open : undefined}
      style={{ ...style, paddingLeft: 6 + row.depth * INDENT }}
      title={row.other === "" ? row.title : `${row.title} ↔ ${row.other}`}
      onClick={go}
      onKeyDown={() => undefined}
    >
      <Twisty row={row} toggle={() => void outline.toggle(row)} />
      <span className={row.begins ? "outline-name begins" : "outline-name"}>
        {row.title} <span className="muted">{row.type_name}</span>
        {row.other !== "" && <span className="muted"> ↔ {row.other}</span>}
        {row.alone > 0 && <span className="tag">{t("diff.word.unmatched", { count: row.alone })}</span>}
      </span>
      <span className="sr-only">, {spoken(row, comparison, t)}</span>
      <span aria-hidden className="outline-number muted">
        {row.nodes}
      </span>
      {comparison && (
        <span aria-hidden className="outline-number differ">
          {row.divergent === 0 ? "–" : row.divergent}
        </span>
      )}
      {comparison && (
        <span aria-hidden className="outline-worst">
          <ScoreChip score={row.worst} />
        </span>
      )}
    </div>
  );
}

/** What the numbers of the columns mean, for those who do not see the headings above them. */
function spoken(row: OutlineRow, comparison: boolean, t: ReturnType<typeof useTranslation>["t"]): string {
  const parts = [t("lists.total", { count: row.nodes })];
  if (comparison && row.divergent > 0) parts.push(t("legend.divergent", { count: row.divergent }));
  if (comparison && row.worst !== null) parts.push(t("details.scoreIs", { score: row.worst.toFixed(2) }));
  return parts.join(", ");
}

function Twisty({ row, toggle }: { row: OutlineRow; toggle: () => void }) {
  if (row.children === 0) return <span className="twisty" />;
  const Icon = row.open ? ChevronDown : ChevronRight;
  return (
    <Icon
      className="twisty"
      aria-hidden
      size={14}
      onClick={(event) => {
        event.stopPropagation();
        toggle();
      }}
    />
  );
}
