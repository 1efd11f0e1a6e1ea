/* Where a value came from, or goes to: pointing at it lights its rails, a click goes there. */

import { ArrowLeft, ArrowRight } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { FlowLink } from "../../api/types";
import { calledAs } from "../../graph/called";
import { selectNode } from "../../state/actions";

interface Props {
  links: readonly FlowLink[];
  direction: "from" | "to";
}

export function FlowEnds({ links, direction }: Props) {
  const { t } = useTranslation();
  const [first] = links;
  if (!first) return null;
  const more = links.length > 1 ? ` +${links.length - 1}` : "";
  const name = `${calledAs(first.node)}${more}`;
  const Icon = direction === "from" ? ArrowLeft : ArrowRight;
  const told = t(direction === "from" ? "details.madeBy" : "details.readBy", { name });
  const guess = first.exact ? "" : `\n${t("details.flowGuess")}`;
  return (
    <button
      type="button"
      className={`link flow-end ${direction}`}
      aria-label={told}
      title={`${told}${guess}`}
      onClick={() => void selectNode(first.node.id)}
    >
      <Icon aria-hidden size={12} /> {name}
    </button>
  );
}
