/* What stands against the answer: pairs it was made without, and renamings that it took for changes. */

import { useTranslation } from "react-i18next";

import type { Answer } from "../../api/types";
import { useCurrentPair, useDatabase } from "../../hooks/useDatabase";
import { useProposals } from "../../hooks/useProposals";
import { rebuildWithPairs } from "../../state/mapping";
import { useApp } from "../../state/store";

export function AnswerNotes({ answer: { changed_pairs: count } }: { answer: Answer }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  if (!data?.writable) return null;
  return (
    <>
      {count > 0 && (
        <p className="answer-note">
          {t("notes.changedPairs", { count })}{" "}
          <button type="button" className="link" onClick={() => void rebuildWithPairs()}>
            {t("notes.rebuild")}
          </button>
        </p>
      )}
      <Renamings />
    </>
  );
}

function Renamings() {
  const { t } = useTranslation();
  const set = useApp((state) => state.set);
  const pair = useCurrentPair();
  const count = useProposals().data?.proposals.length ?? 0;
  if (!pair || count === 0) return null;
  const unmatched = pair.unmatched_problem + pair.unmatched_benchmark;
  return (
    <p className="answer-note">
      {t("notes.proposed", { count, unmatched })}{" "}
      <button type="button" className="link" onClick={() => set({ leftTab: "mapping" })}>
        {t("notes.look")}
      </button>
    </p>
  );
}
