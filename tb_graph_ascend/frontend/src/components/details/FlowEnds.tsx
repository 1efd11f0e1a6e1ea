/* Where a value came from, or goes to: pointing at it lights its rails, a click on a name goes there.
 * The first call stands in the row; a button unfolds the list of all. */

import { ArrowLeft, ArrowRight } from "lucide-react";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";

import type { FlowLink } from "../../api/types";
import { calledAs } from "../../graph/called";
import { selectNode } from "../../state/actions";
import { lightRails } from "../../state/litrails";

interface Props {
  links: readonly FlowLink[];
  direction: "from" | "to";
}

export function FlowEnds({ links, direction }: Props) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const list = useId();
  const calls = distinct(links);
  const [first] = calls;
  if (!first) return null;
  const count = calls.length;
  const told = t(direction === "from" ? "details.allMakers" : "details.allReaders", { count });
  const more = `${open ? "−" : "+"}${count - 1}`;
  return (
    <>
      <FlowEnd link={first} direction={direction} />
      {count > 1 && (
        <button
          type="button"
          className={`link flow-more ${direction}`}
          aria-expanded={open}
          aria-controls={open ? list : undefined}
          aria-label={`${more}: ${told}`}
          title={told}
          onClick={() => setOpen(!open)}
        >
          {more}
        </button>
      )}
      {open && count > 1 && (
        <ul className="flow-list" id={list}>
          {calls.map((link) => (
            <li key={link.node.id}>
              <FlowEnd link={link} direction={direction} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function FlowEnd({ link, direction }: { link: FlowLink; direction: Props["direction"] }) {
  const { t } = useTranslation();
  const name = calledAs(link.node);
  const Icon = direction === "from" ? ArrowLeft : ArrowRight;
  const told = t(direction === "from" ? "details.madeBy" : "details.readBy", { name });
  return (
    <>
      <button
        type="button"
        className={`link flow-end ${direction}`}
        aria-label={told}
        title={[told, link.exact ? "" : t("details.flowGuess"), link.node.name].filter(Boolean).join("\n")}
        onPointerEnter={() => lightRails([link.node])}
        onClick={() => void selectNode(link.node.id)}
      >
        <Icon aria-hidden size={12} /> {name}
      </button>
      {!link.exact && (
        <span className="tag guess" title={t("details.flowGuess")}>
          {t("details.equalValues")}
        </span>
      )}
    </>
  );
}

/** One link a call, its first, though a call may read a value more than once. */
function distinct(links: readonly FlowLink[]): FlowLink[] {
  const found = new Map<number, FlowLink>();
  for (const link of links) if (!found.has(link.node.id)) found.set(link.node.id, link);
  return [...found.values()];
}
