/* At which tokens the values of the selected node are apart, one line a value. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { tokensQuery } from "../../api/queries";
import { useApp } from "../../state/store";
import { TokenLine } from "../parts/TokenLine";

export function NodeTokenLines({ node }: { node: number }) {
  const { t } = useTranslation();
  const db = useApp((state) => state.db);
  const told = useQuery({ ...tokensQuery(db ?? "", node), enabled: db !== null }).data;
  if (!told || told.lines.length === 0) return null;
  return (
    <section aria-label={t("tokens.label")}>
      {told.lines.map((line) => (
        <TokenLine key={line.value} cells={told.cells} line={line} />
      ))}
    </section>
  );
}
