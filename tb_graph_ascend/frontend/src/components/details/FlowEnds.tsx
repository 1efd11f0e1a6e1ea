/* Where a value came from, or goes to: pointing at it lights its rails, a click on a name goes there.
 * The first call stands in the row; a button unfolds the list of all. */

import { ArrowLeft, ArrowRight } from "lucide-react";
import { useId, useState } from "react";
import { useTranslation } from "react-i18next";

import type { FlowLink } from "../../api/types";
import { calledAs } from "../../graph/called";
import { distinctCalls } from "../../graph/flowcalls";
import { followTo } from "../../state/actions";
import { lightRails } from "../../state/litrails";

interface Props {
  links: readonly FlowLink[];
  direction: "from" | "to";
}

export function FlowEnds({ links, direction }: Props) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const list = useId();
  const [first, ...others] = distinctCalls(links);
  if (!first) return null;
  const count = others.length;
  const told = t(direction === "from" ? "notes.otherMakers" : "notes.otherReaders", { count });
  const more = open ? t("notes.less") : `+${count}`;
  return (
    <>
      <FlowEnd link={first} direction={direction} />
      {count > 0 && (
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
      {open && count > 0 && (
        <ul className="flow-list" id={list}>
          {others.map((link) => (
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
        onClick={() => void followTo(link.node.id)}
      >
        <Icon aria-hidden size={12} /> {name}
      </button>
      {!link.exact && (
        <span className="tag guess" title={t("details.flowGuess")}>
          <span className="guess-long">{t("details.equalLinked")} </span>
          {t("details.equalValues")}
        </span>
      )}
    </>
  );
}
