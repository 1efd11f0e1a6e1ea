/* What the colours of a chart stand for, beside its title. */

import type { PlotSeries } from "./Plot";

export function SeriesKeys({ series }: { series: readonly Pick<PlotSeries, "label" | "colour">[] }) {
  return series.map(({ label, colour }) => (
    <span key={label} className="series-key">
      <i aria-hidden style={{ background: `var(--${colour})` }} />
      {label}
    </span>
  ));
}
