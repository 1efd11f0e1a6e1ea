/* Nothing to show: where was searched, what a result file is called, how to make one. */

import { useTranslation } from "react-i18next";

import type { Databases } from "../../api/types";
import { BuildForm } from "../build/BuildForm";
import { Command } from "../parts/Command";

const COMMAND = "msprobe graph_visualize -tp problem_dump -gp benchmark_dump -o graph_output";

export function EmptyState({ databases }: { databases: Databases }) {
  const { t } = useTranslation();
  const broken = databases.databases.filter(({ error }) => error !== null);
  return (
    <main className="empty">
      <h1>{broken.length > 0 ? t("empty.unreadable") : t("empty.title")}</h1>
      {broken.map(({ id, path, error }) => (
        <p key={id} className="warning">
          <code>{path}</code> {error}
        </p>
      ))}
      <p>{t("empty.searched")}</p>
      <ul>
        {databases.searched.map((folder) => (
          <li key={folder}>
            <code>{folder}</code>
          </li>
        ))}
      </ul>
      <p>{t("empty.pattern")}</p>
      <Command text={COMMAND} />
      <p className="muted">{t("empty.appears")}</p>
      {!databases.read_only && (
        <section>
          <h2>{t("header.build")}</h2>
          <BuildForm />
        </section>
      )}
    </main>
  );
}
