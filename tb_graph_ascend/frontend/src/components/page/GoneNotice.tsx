/* What a link named is not there any more: said in words, with nothing else opened in its place. */

import { FileX2 } from "lucide-react";
import { useTranslation } from "react-i18next";

import { useDatabase } from "../../hooks/useDatabase";
import { openDatabase } from "../../state/actions";
import { type Gone, useApp } from "../../state/store";

export function GoneNotice({ gone }: { gone: Gone }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  return (
    <main className="gone" role="alert">
      <FileX2 aria-hidden size={28} />
      {gone.what === "database" ? (
        <>
          <h1>{t("gone.database")}</h1>
          <p>
            <code>{gone.name}</code>
          </p>
          <p className="muted">{t("gone.chooseDatabase")}</p>
        </>
      ) : (
        <>
          <h1>{t("gone.pair", { step: gone.step, rank: gone.rank })}</h1>
          {data && <p className="muted">{data.path}</p>}
          {data && (
            <button type="button" className="button primary" onClick={() => void openDatabase(data.id)}>
              {t("gone.openBeginning")}
            </button>
          )}
        </>
      )}
    </main>
  );
}

/** Above a file that was deleted or replaced while it is open. */
export function DeletedNotice() {
  const { t } = useTranslation();
  const busy = useApp((state) => state.busy);
  return busy ? null : <p className="banner" role="status">{t("gone.deleted")}</p>;
}
