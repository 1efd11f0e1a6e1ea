/* One row of the outline; an unloaded child asks for its page. */

import { ChevronDown, ChevronRight } from "lucide-react";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";

import type { Node, Side } from "../../api/types";
import { badgeOf, isUnmatched } from "../../graph/appearance";
import { labelOf } from "../../graph/labels";
import { scoreText } from "../../text/numbers";
import type { RowPlace } from "../../outline/rows";
import { selectNode, toggleNode } from "../../state/actions";
import type { GraphSession } from "../../state/session";
import { ScoreChip } from "../parts/ScoreChip";

interface Props {
  row: number;
  place: RowPlace;
  start: number;
  height: number;
  session: GraphSession;
  side: Side;
  selected: boolean;
}

const INDENT = 14;

export function OutlineRow({ row, place, start, height, session, side, selected }: Props) {
  const { t } = useTranslation();
  const { parent, position, depth } = place;
  const tree = session.tree(side);
  const node = parent === null ? tree?.root : tree?.childAt(parent, position);
  useEffect(() => {
    if (!node && parent !== null) session.want(side, parent, position);
  }, [node, parent, position, session, side]);
  const style = {
    transform: `translateY(${start}px)`,
    height,
    paddingLeft: 6 + (depth - 1) * INDENT,
  };
  if (!node) {
    return (
      <div role="treeitem" aria-selected={false} tabIndex={-1} className="row" style={style}>
        <span className="muted">{t("outline.unloaded")}</span>
      </div>
    );
  }
  const open = tree?.isOpen(node.id) ?? false;
  return (
    <div
      id={`outline-${row}`}
      role="treeitem"
      tabIndex={-1}
      className={selected ? "row current" : "row"}
      aria-level={depth}
      aria-posinset={position + 1}
      aria-setsize={parent === null ? 1 : (tree?.get(parent)?.children ?? -1)}
      aria-selected={selected}
      aria-expanded={node.children > 0 ? open : undefined}
      style={style}
      title={node.name}
      onClick={() => void selectNode(node.id)}
      onDoubleClick={() => void toggleNode(node)}
      onKeyDown={() => undefined}
    >
      <Twisty node={node} open={open} />
      <RowLabel node={node} session={session} side={side} />
    </div>
  );
}

function Twisty({ node, open }: { node: Node; open: boolean }) {
  if (node.children === 0) return <span className="twisty" />;
  const Icon = open ? ChevronDown : ChevronRight;
  return (
    <Icon
      className="twisty"
      aria-hidden
      size={14}
      onClick={(event) => {
        event.stopPropagation();
        void toggleNode(node);
      }}
    />
  );
}

function RowLabel({ node, session, side }: { node: Node; session: GraphSession; side: Side }) {
  const { t } = useTranslation();
  const tree = session.tree(side);
  const parent = node.parent === null ? undefined : tree?.get(node.parent);
  const { text, detail, backward } = labelOf(node, parent);
  const badge = badgeOf(node);
  const unmatched = isUnmatched(node, session.comparison);
  return (
    <>
      <span className={unmatched ? "node-name unmatched" : "node-name"}>
        <span className="node-tail">{text}</span> <span className="node-detail">{detail}</span>
      </span>
      {backward && <span className="tag">{t("direction.backward")}</span>}
      {unmatched && <span className="tag">{t("legend.unmatched")}</span>}
      {badge && (
        <span className="tag" title={scoreText(badge.worst)}>
          {badge.count} ▾ {scoreText(badge.worst)}
        </span>
      )}
      {node.score !== null && <ScoreChip score={node.score} />}
    </>
  );
}
