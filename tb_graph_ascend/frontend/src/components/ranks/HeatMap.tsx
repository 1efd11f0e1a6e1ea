/* Where the error sits in a tensor seen as a matrix: largest |difference| per block, red as scores. */

import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";

import type { Heat, Measure } from "../../api/types";
import { shortNumber } from "../../text/numbers";
import { type RampTheme, rampColor } from "../../graph/ramp";
import { usePreferences } from "../../state/preferences";

const SIZE = 150;

export function HeatMap({ heat }: { heat: Heat }) {
  const { t } = useTranslation();
  const theme = usePreferences((state) => state.theme);
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (canvas.current) draw(canvas.current, heat, theme);
  }, [heat, theme]);
  const { rows, columns, largest } = heat;
  const label = t("pictures.heat", { rows, columns });
  return (
    <figure>
      <figcaption>{label}</figcaption>
      <div role="img" aria-label={label} className="heat">
        <canvas ref={canvas} />
      </div>
      <p className="muted">{t("pictures.largest", { value: shortNumber(largest) })}</p>
    </figure>
  );
}

function draw(canvas: HTMLCanvasElement, { cells, largest }: Heat, theme: RampTheme): void {
  const context = canvas.getContext("2d");
  const columns = cells[0]?.length ?? 0;
  if (!context || columns === 0) return;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = SIZE * ratio;
  canvas.height = SIZE * ratio;
  const width = canvas.width / columns;
  const height = canvas.height / cells.length;
  cells.forEach((row, y) => {
    row.forEach((cell, x) => {
      context.fillStyle = rampColor(share(cell, largest), theme);
      context.fillRect(x * width, y * height, Math.ceil(width), Math.ceil(height));
    });
  });
}

/** The error relative to the largest; what is not finite counts as full. */
function share(cell: Measure, largest: Measure): number {
  if (cell === null || cell === 0) return 0;
  if (typeof cell === "string") return 1;
  return typeof largest === "number" && largest > 0 ? cell / largest : 0;
}
