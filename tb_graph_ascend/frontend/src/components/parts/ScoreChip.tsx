/* A score as a chip in the ramp's colour. */

import { scoreText } from "../../text/numbers";
import { inkOn, rampColor } from "../../graph/ramp";

export function ScoreChip({ score, title }: { score: number | null; title?: string }) {
  if (score === null) {
    return (
      <span className="chip plain" title={title}>
        –
      </span>
    );
  }
  const style = { backgroundColor: rampColor(score), color: inkOn(score) };
  return (
    <span className="chip" style={style} title={title ?? String(score)}>
      {scoreText(score)}
    </span>
  );
}
