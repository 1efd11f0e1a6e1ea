/* The list of result files; those that cannot be opened say so and cannot be chosen. One that was
 * deleted while it is open stays named: what is on screen is of that file and no other. */

import { ChevronDown } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { DatabaseEntry, Databases } from "../../api/types";
import { openDatabase } from "../../state/actions";
import { useApp } from "../../state/store";
import { fileLines, lineText } from "../../text/resultfiles";

/** The whole path, and the whole folders that were compared. */
function entryTitle({ path, problem, benchmark }: DatabaseEntry): string {
  return [path, [problem, benchmark].filter(Boolean).join(" ↔ ")].filter(Boolean).join("\n");
}

export function DatabaseChoice({ databases }: { databases: Databases }) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const current = databases.databases.find(({ id }) => id === db);
  const lines = fileLines(databases.databases);
  const none = { file: t(db === null ? "header.chooseDatabase" : "header.goneDatabase"), holds: "" };
  const shown = (current && lines.get(current.id)) ?? none;
  return (
    // The list is the browser's own and lies over what is shown of it: a file and its runs in two lines.
    <span className="database-choice" title={current ? entryTitle(current) : t("header.database")}>
      <span className="database-shown" aria-hidden>
        <span>{shown.file}</span>
        {shown.holds !== "" && <span className="muted">{shown.holds}</span>}
      </span>
      <ChevronDown aria-hidden size={14} />
      <select
        className="database"
        aria-label={t("header.database")}
        value={db ?? ""}
        onChange={(event) => void openDatabase(event.target.value)}
      >
        {!current && (
          <option value={db ?? ""} disabled>
            {none.file}
          </option>
        )}
        {databases.databases.map(({ id, error }) => (
          <option key={id} value={id} disabled={error !== null}>
            {lineText(lines.get(id) ?? none)}
          </option>
        ))}
      </select>
    </span>
  );
}
