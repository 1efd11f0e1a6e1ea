/* The ancestors of the selected node, each a step back up. */

import { useTranslation } from "react-i18next";

import type { Node } from "../../api/types";
import { marked } from "../../graph/called";
import { labelOf } from "../../graph/labels";
import { selectNode } from "../../state/actions";
import type { GraphSession } from "../../state/session";
import { useApp } from "../../state/store";

export function SelectedPath({ session }: { session: GraphSession }) {
  const { t } = useTranslation();
  const selected = useApp((state) => state.selected);
  const node = selected === null ? undefined : session.get(selected);
  if (!node) return null;
  return (
    <nav className="crumbs" aria-label={t("graph.path")}>
      {[...session.ancestors(node), node].map((one, index, all) => (
        <button
          key={one.id}
          type="button"
          className="link"
          title={one.name}
          aria-current={one === node ? "location" : undefined}
          onClick={() => void selectNode(one.id)}
        >
          {one.kind === "collection" ? t("diff.calls", { count: one.children }) : crumb(one, all[index - 1])}
        </button>
      ))}
    </nav>
  );
}

function crumb(node: Node, parent: Node | undefined): string {
  const { text, backward } = labelOf(node, parent);
  return marked(text, backward);
}
