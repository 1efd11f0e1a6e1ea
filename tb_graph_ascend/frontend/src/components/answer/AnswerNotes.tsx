/* What stands against the answer: pairs it was made without, and renamings that it took for changes. */

import { useTranslation } from "react-i18next";

import type { Answer, Cause } from "../../api/types";
import { useCurrentPair, useDatabase } from "../../hooks/useDatabase";
import { useProposals } from "../../hooks/useProposals";
import { standingCause } from "../../state/former";
import { rebuildWithPairs } from "../../state/mapping";
import { useApp } from "../../state/store";

interface AnswerNotesProps {
  answer: Answer;
  /** How many nodes have no partner is told above. */
  unmatchedTold?: boolean;
  /** What the answer above names, found without the pairs. */
  cause?: Cause;
  /** The answer above is of the pairs as they are now. */
  current?: boolean;
}

export function AnswerNotes({ answer, unmatchedTold = false, cause, current = false }: AnswerNotesProps) {
  const { changed_pairs: count, since } = answer;
  const { t } = useTranslation();
  const { data } = useDatabase();
  if (!data?.writable) return null;
  return (
    <>
      {count > 0 && (
        <p className="answer-note">
          {!current && t("notes.changedPairs", { count })}{" "}
          {since && cause && t(cause === standingCause(answer) ? "certainty.stands" : "certainty.maybe")}{" "}
          <button type="button" className="link" onClick={() => void rebuildWithPairs()}>
            {t("notes.rebuild")}
          </button>
        </p>
      )}
      <Renamings unmatchedTold={unmatchedTold} />
      {count > 0 && <LoneUpdates />}
    </>
  );
}

/** What is left without a partner once nothing is proposed any more, and why a rebuild helps. */
function LoneUpdates() {
  const { t } = useTranslation();
  const pair = useCurrentPair();
  const { data } = useProposals();
  if (!pair || !data || data.proposals.length > 0 || data.updates === 0) return null;
  const unmatched = pair.unmatched_problem + pair.unmatched_benchmark;
  return <p className="answer-note">{t(data.updates === unmatched ? "notes.allUpdates" : "notes.updates", { count: data.updates, unmatched })}</p>;
}

function Renamings({ unmatchedTold }: { unmatchedTold: boolean }) {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  const pair = useCurrentPair();
  const count = useProposals().data?.proposals.length ?? 0;
  if (!pair || count === 0) return null;
  const unmatched = pair.unmatched_problem + pair.unmatched_benchmark;
  return (
    <p className="answer-note">
      {t(unmatchedTold ? "notes.likely" : "notes.proposed", { count, unmatched })}{" "}
      <button type="button" className="link" onClick={() => set({ leftTab: "mapping" })}>
        {t("notes.look")}
      </button>
    </p>
  );
}
