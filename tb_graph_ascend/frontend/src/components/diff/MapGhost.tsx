/* What is being dragged, beside the pointer, and what letting it go would do. */

import type { CSSProperties } from "react";
import { useTranslation } from "react-i18next";

import { otherSide } from "../../graph/mapdrag";
import { refusalText } from "../../i18n/reason";
import { useMapDrag } from "../../state/mapdrag";

const WIDTH = 300;
const HEIGHT = 52;
const AWAY = 14;

export function MapGhost() {
  const { t } = useTranslation();
  const { held, x, y, drop } = useMapDrag();
  if (!held) return null;
  const tone = drop === null ? "" : drop.fits ? " fits" : " refused";
  return (
    <div className={`map-ghost${tone}`} style={beside(x, y)} data-fits={drop?.fits ?? "unknown"}>
      <strong>↔ {held.label}</strong>
      <span>
        {drop === null
          ? t("mapping.dragOn", { side: otherSide(held.side) })
          : drop.fits
            ? t("mapping.dropFits", { name: drop.label })
            : t("mapping.dropRefused", { reason: refusalText(t, drop.why) })}
      </span>
    </div>
  );
}

/** Right below the pointer, above it where the window ends. */
function beside(x: number, y: number): CSSProperties {
  const left = Math.max(4, Math.min(x + AWAY, window.innerWidth - WIDTH - 4));
  const below = y + AWAY + HEIGHT < window.innerHeight;
  return { left, top: below ? y + AWAY : Math.max(4, y - HEIGHT - AWAY), maxWidth: WIDTH };
}
