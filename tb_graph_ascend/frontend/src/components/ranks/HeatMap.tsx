/* Where the error sits in a tensor seen as a matrix: largest |difference| per block, red as scores. */

import { type PointerEvent, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import type { Heat, Measure } from "../../api/types";
import { type Cell, cellAt, indexOf } from "../../graph/heatcells";
import { shortNumber } from "../../text/numbers";
import { type RampTheme, rampColor } from "../../graph/ramp";
import { usePreferences } from "../../state/preferences";

const SIZE = 150;

export function HeatMap({ heat }: { heat: Heat }) {
  const { t } = useTranslation();
  const theme = usePreferences((state) => state.theme);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, setPointed] = useState<Cell | null>(null);
  useEffect(() => {
    if (canvas.current) draw(canvas.current, heat, theme);
  }, [heat, theme]);
  const { rows, columns, largest, shape, at } = heat;
  const label = t("pictures.heat", { row: rows - 1, column: columns - 1 });
  const point = (event: PointerEvent<HTMLCanvasElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    setPointed(cellAt(heat, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height));
  };
  const value = shortNumber(pointed ? pointed.worst : largest);
  return (
    <figure>
      <figcaption>{label}</figcaption>
      <div role="img" aria-label={label} className="heat">
        <canvas ref={canvas} onPointerMove={point} onPointerLeave={() => setPointed(null)} />
      </div>
      <p className="muted">
        {pointed
          ? t("pictures.cell", { from: indexOf(pointed.first, shape), to: indexOf(pointed.last, shape), value })
          : at
            ? t("pictures.largestAt", { value, at: at.join(", ") })
            : t("pictures.largest", { value })}
      </p>
      {shape.length > 2 && <p className="muted">{t("pictures.flattened", { shape: shape.join(", ") })}</p>}
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
