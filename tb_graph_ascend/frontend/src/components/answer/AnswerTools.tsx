/* What is done with the answer: show it, take it along as a slide or a link. */

import { Link, Presentation } from "lucide-react";
import { useTranslation } from "react-i18next";

import { isServed } from "../../api/client";
import { useHandOn } from "../../hooks/useHandOn";
import { showPlace } from "../../state/actions";
import type { NodePlace } from "../../state/places";

interface AnswerToolsProps {
  place: NodePlace | undefined;
  /** The key for where it begins leads there too. */
  first: boolean;
  /** The runs come together again: nothing begins there. */
  heals?: boolean;
}

export function AnswerTools({ place, first, heals = false }: AnswerToolsProps) {
  const { t } = useTranslation();
  const { copyLink, saveSlide } = useHandOn();
  return (
    <>
      {place && (
        <button type="button" className="button primary" title={t(heals ? "answer.anotherWayKey" : "findings.startHereKey")} onClick={() => void showPlace(place)}>
          {t("answer.show")} {first && <kbd aria-hidden>F</kbd>}
        </button>
      )}
      {isServed() && (
        <button type="button" className="button" title={t("share.slide")} aria-label={t("answer.slide")} onClick={() => saveSlide("png")}>
          <Presentation aria-hidden size={14} /> <span className="wide-only">{t("answer.slide")}</span>
        </button>
      )}
      <button type="button" className="button" title={t("share.link")} aria-label={t("answer.link")} onClick={copyLink}>
        <Link aria-hidden size={14} /> <span className="wide-only">{t("answer.link")}</span>
      </button>
    </>
  );
}
