/* An empty nodes table: which words no name has, and what is nearest to them; else that all terms hold. */

import { useTranslation } from "react-i18next";

import type { UnknownWord } from "../../api/types";
import { useNothingHere } from "../../hooks/useDatabase";
import { useApp } from "../../state/store";

export function NothingFits({ words }: { words: readonly UnknownWord[] }) {
  const { t } = useTranslation();
  const query = useApp((state) => state.query);
  const set = useApp((state) => state.set);
  const scope = useApp((state) => state.table.scope);
  const nothing = useNothingHere();
  if (nothing !== null && scope === "pair") return <p className="message">{nothing}</p>;
  if (words.length === 0) return <p className="message">{t("search.none")}</p>;
  return (
    <div className="message">
      {words.map(({ word, nearest }) => (
        <div key={word}>
          <p>{t("search.unknown", { word })}</p>
          {nearest.length > 0 && (
            <p className="terms">
              {t("search.nearest")}{" "}
              {nearest.map((one) => (
                <button key={one} type="button" className="term" onClick={() => set({ query: query.replace(word, one) })}>
                  {one}
                </button>
              ))}
            </p>
          )}
        </div>
      ))}
    </div>
  );
}
