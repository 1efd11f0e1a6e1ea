/* A cell of a table of steps and ranks: a score on its colour, or a dot where there are none, or a word in place of
 * a score that is not known; a click goes there. */
import { inkFill, rampFill } from "../../graph/ramp";
import { scoreText } from "../../text/numbers";

interface ScoreCellProps {
  label: string;
  score: number | null;
  /** Of one run there are no scores. */
  single: boolean;
  current: boolean;
  go: () => Promise<void>;
  word?: string | null;
}

export function ScoreCell({ label, score, single, current, go, word = null }: ScoreCellProps) {
  return (
    <button
      type="button"
      className={word === null ? "cell" : "cell worded"}
      aria-label={label}
      title={label}
      aria-current={current}
      style={score === null ? {} : { background: rampFill(score), color: inkFill(score) }}
      onClick={() => void go()}
    >
      {single ? "•" : (word ?? scoreText(score))}
    </button>
  );
}
