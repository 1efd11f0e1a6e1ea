/* A table of steps (columns) × ranks (rows), one cell for each place. */

import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { ranksOf, stepsOf } from "../../state/pairs";

interface Place {
  step: number;
  rank: number;
}

interface Props<Cell extends Place> {
  label: string;
  cells: readonly Cell[];
  /** Draws a cell; undefined where the step has no such rank. */
  draw: (cell: Cell | undefined) => ReactNode;
}

export function StepRankTable<Cell extends Place>({ label, cells, draw }: Props<Cell>) {
  const { t } = useTranslation();
  const steps = stepsOf(cells);
  const byPlace = new Map(cells.map((cell) => [`${cell.step} ${cell.rank}`, cell]));
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          <th scope="col">
            {t("matrix.rank")} \ {t("matrix.step")}
          </th>
          {steps.map((step) => (
            <th key={step} scope="col">
              {step}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {ranksOf(cells).map((rank) => (
          <tr key={rank}>
            <th scope="row">{rank}</th>
            {steps.map((step) => (
              <td key={step}>{draw(byPlace.get(`${step} ${rank}`))}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
