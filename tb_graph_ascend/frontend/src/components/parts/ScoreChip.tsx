/* A score as a chip in the ramp's colour, and what else is `said` of it. */

import { scoreText } from "../../text/numbers";
import { inkFill, rampFill } from "../../graph/ramp";

interface ScoreChipProps {
  score: number | null;
  title?: string | undefined;
  said?: string | null;
}

export function ScoreChip({ score, title, said = null }: ScoreChipProps) {
  if (score === null) {
    return (
      <span className="chip plain" title={title}>
        –
      </span>
    );
  }
  // A score that reads 0.00 is no news: on a dark page its near white would be the brightest spot.
  if (scoreText(score) === scoreText(0)) {
    return (
      <span className="chip plain" title={title ?? String(score)}>
        {scoreText(score)}
      </span>
    );
  }
  const style = { backgroundColor: rampFill(score), color: inkFill(score) };
  return (
    <span className="chip" style={style} title={title ?? String(score)}>
      {said ?? scoreText(score)}
    </span>
  );
}
