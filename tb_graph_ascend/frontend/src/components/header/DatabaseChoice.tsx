/* The list of result files; those that cannot be opened say so and cannot be chosen. One that was
 * deleted while it is open stays named: what is on screen is of that file and no other. */

import { useTranslation } from "react-i18next";

import type { DatabaseEntry, Databases } from "../../api/types";
import { openDatabase } from "../../state/actions";
import { useApp } from "../../state/store";
import { entryLabel } from "../../text/resultfiles";

/** The whole path, and the whole folders that were compared. */
function entryTitle({ path, problem, benchmark }: DatabaseEntry): string {
  return [path, [problem, benchmark].filter(Boolean).join(" ↔ ")].filter(Boolean).join("\n");
}

export function DatabaseChoice({ databases }: { databases: Databases }) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const current = databases.databases.find(({ id }) => id === db);
  return (
    <select
      className="database"
      aria-label={t("header.database")}
      title={current ? entryTitle(current) : t("header.database")}
      value={db ?? ""}
      onChange={(event) => void openDatabase(event.target.value)}
    >
      {!current && (
        <option value={db ?? ""} disabled>
          {db === null ? t("header.chooseDatabase") : t("header.goneDatabase")}
        </option>
      )}
      {databases.databases.map((entry) => (
        <option key={entry.id} value={entry.id} disabled={entry.error !== null}>
          {entryLabel(entry)}
        </option>
      ))}
    </select>
  );
}
