/* Over the nodes table: where it asks, common queries, its order, and its files. */

import { ArrowDownNarrowWide, ArrowUpNarrowWide } from "lucide-react";
import { useTranslation } from "react-i18next";

import { type TableQuery, files, isServed } from "../../api/client";
import { useDatabase } from "../../hooks/useDatabase";
import { placed, stemOf } from "../../hooks/useHandOn";
import { useTableQuery } from "../../hooks/useNodeTable";
import { guarded } from "../../state/actions";
import { download } from "../../state/export";
import { isTermOf } from "../../state/onerun";
import { toggleTerm } from "../../state/queryterms";
import { type TableOrder, useApp } from "../../state/store";

const SCOPES = ["pair", "rank", "all"] as const;
/** What a chip puts into the query, which is one language for all, by what the chip is called. */
const TERMS = {
  unmatched: "unmatched",
  divergent: "divergent",
  backward: "backward",
  api: "kind:api",
  error: "verdict:error",
  overflow: "overflow",
} as const;
const SORTS = ["order", "score", "introduced", "name"] as const;
const FORMS = {
  csv: "text/csv",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  json: "application/json",
} as const;

/** `files`: whether there are rows that a file could hold. */
export function NodeTableTools({ files: offered }: { files: boolean }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const table = useApp((state) => state.table);
  const set = useApp((state) => state.set);
  const change = (part: Partial<TableOrder>): void => set({ table: { ...table, ...part } });
  return (
    <div className="table-tools">
      {(data?.pairs.length ?? 0) > 1 && (
        <div className="segmented" role="group" aria-label={t("lists.scope")}>
          {SCOPES.map((scope) => (
            <button key={scope} type="button" aria-pressed={table.scope === scope} onClick={() => change({ scope })}>
              {t(`scope.${scope}`)}
            </button>
          ))}
        </div>
      )}
      <Terms />
      <div className="table-order">
        <select
          aria-label={t("lists.sort")}
          value={table.sort}
          onChange={({ target }) => {
            const sort = target.value as TableOrder["sort"];
            change({ sort, descending: sort === "score" || sort === "introduced" });
          }}
        >
          {SORTS.filter((sort) => data?.comparison !== false || (sort !== "score" && sort !== "introduced")).map((sort) => (
            <option key={sort} value={sort}>
              {t(`sort.${sort}`)}
            </option>
          ))}
        </select>
        <button
          type="button"
          className="icon small"
          aria-pressed={table.descending}
          aria-label={t("lists.descending")}
          title={t("lists.descending")}
          onClick={() => change({ descending: !table.descending })}
        >
          {table.descending ? <ArrowDownNarrowWide aria-hidden size={16} /> : <ArrowUpNarrowWide aria-hidden size={16} />}
        </button>
        <span className="spacer" />
        <Files offered={offered} />
      </div>
    </div>
  );
}

function Terms() {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const query = useApp((state) => state.query);
  const set = useApp((state) => state.set);
  return (
    <div className="terms" role="group" aria-label={t("lists.terms")}>
      {(Object.keys(TERMS) as (keyof typeof TERMS)[]).filter((name) => isTermOf(data, TERMS[name])).map((name) => (
        <button
          key={name}
          type="button"
          className="term"
          title={TERMS[name]}
          aria-pressed={query.split(/\s+/).includes(TERMS[name])}
          onClick={() => set({ query: toggleTerm(query, TERMS[name]) })}
        >
          {t(`lists.term.${name}`)}
        </button>
      ))}
    </div>
  );
}

/** Files of exactly what is listed: the same query, whole. */
function Files({ offered }: { offered: boolean }) {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const query = useTableQuery();
  if (!data || !query) return null;
  if (!isServed()) return <span className="muted">{t("offline.files")}</span>;
  return (
    <div className="segmented" role="group" aria-label={t("lists.files")}>
      {(Object.keys(FORMS) as (keyof typeof FORMS)[]).map((form) => (
        <button
          key={form}
          type="button"
          disabled={!offered}
          title={t("lists.file", { form: form.toUpperCase() })}
          onClick={() => save(data.id, query, form, stemOf(data.path))}
        >
          {form.toUpperCase()}
        </button>
      ))}
    </div>
  );
}

/** Of which step and rank a query asks. */
function placeOf({ scope, step, rank }: TableQuery): Parameters<typeof placed>[0] {
  return { step: scope === "pair" ? step : undefined, rank: scope === "all" ? undefined : rank };
}

function save(db: string, query: TableQuery, form: keyof typeof FORMS, stem: string): void {
  const take = async (): Promise<void> =>
    download(`${stem}${placed(placeOf(query))}-nodes.${form}`, await files.nodes(db, query, form), FORMS[form]);
  void guarded(() => save(db, query, form, stem), take);
}
