/* Which parameters of two programs of one model are one tensor: filter, select, download. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";

import { type WeightFilter, allWeights, weightsQuery } from "../../api/queries";
import type { MappedPair, SharedWeight } from "../../api/types";
import { guarded, selectNode } from "../../state/actions";
import { download, mappingFile } from "../../state/export";
import { useApp } from "../../state/store";
import { BreakableName } from "../parts/BreakableName";
import { FailureNotice } from "../parts/FailureNotice";

const RELATIONS = ["same", "reshaped", "joined", "split", "scaled", "differs"] as const;

export function SharedWeights({ pairs }: { pairs: MappedPair[] }) {
  const { t } = useTranslation();
  const { db, step, rank } = useApp();
  const [filter, setFilter] = useState<WeightFilter>({});
  const asked = useDeferredValue(filter);
  const known = db !== null && step !== null && rank !== null;
  const { data, error, refetch, hasNextPage, fetchNextPage } = useInfiniteQuery({
    ...weightsQuery(db ?? "", step ?? 0, rank ?? 0, asked),
    enabled: known,
  });
  if (error) return <FailureNotice error={error} retry={() => void refetch()} />;
  const first = data?.pages[0];
  if (!known || !first || first.all === 0) return null;
  const listed = data.pages.flatMap(({ weights }) => weights);
  const save = async (): Promise<void> => {
    const weights = await allWeights(db, step, rank);
    download("weights.mapping.json", mappingFile(pairs, weights), "application/json");
  };
  return (
    <section>
      <h2>{t("mapping.weights", { count: first.all })}</h2>
      <p className="muted">{t("mapping.weightsHelp")}</p>
      <WeightFilters filter={filter} change={setFilter} />
      {listed.length === 0 && <p className="muted">{t("mapping.noWeights")}</p>}
      <ul className="mapped">
        {listed.map((weight) => (
          <WeightRow key={`${weight.problem.join()} ${weight.benchmark.join()}`} weight={weight} />
        ))}
      </ul>
      <div className="toolbar plain">
        {hasNextPage && (
          <button type="button" className="button" onClick={() => void fetchNextPage()}>
            {t("mapping.moreWeights", { count: first.total - listed.length })}
          </button>
        )}
        <button type="button" className="button" onClick={() => void guarded(() => void save(), save)}>
          <Download aria-hidden size={14} /> {t("mapping.downloadWeights")}
        </button>
      </div>
    </section>
  );
}

function WeightFilters({ filter, change }: { filter: WeightFilter; change: (to: WeightFilter) => void }) {
  const { t } = useTranslation();
  return (
    <div className="toolbar plain">
      <input
        type="search"
        value={filter.part ?? ""}
        placeholder={t("mapping.weightPart")}
        aria-label={t("mapping.weightPart")}
        onChange={({ target }) => change({ ...filter, part: target.value })}
      />
      <select
        aria-label={t("mapping.relation")}
        value={filter.relation ?? ""}
        onChange={({ target }) => {
          const relation = RELATIONS.find((one) => one === target.value);
          change(relation ? { ...filter, relation } : { part: filter.part ?? "" });
        }}
      >
        <option value="">{t("mapping.relations.all")}</option>
        {RELATIONS.map((one) => (
          <option key={one} value={one}>
            {t(`mapping.relations.${one}`)}
          </option>
        ))}
      </select>
    </div>
  );
}

function WeightRow({ weight }: { weight: SharedWeight }) {
  const { t } = useTranslation();
  const { problem, benchmark, relation, by_hand: byHand, node } = weight;
  return (
    <li>
      <button
        type="button"
        className="row-button stacked"
        title={`${problem.join(" + ")} ↔ ${benchmark.join(" + ")}`}
        onClick={() => void selectNode(node)}
      >
        <span className="node-tail">
          <Paths paths={problem} />
        </span>
        <span className="muted">
          ↔ <Paths paths={benchmark} />
        </span>
        {relation !== "same" && <span className="tag">{t(`mapping.relations.${relation}`)}</span>}
        {byHand && <span className="tag">{t("mapping.weightByHand")}</span>}
      </button>
    </li>
  );
}

function Paths({ paths }: { paths: string[] }) {
  return paths.map((path, index) => (
    <span key={path}>
      {index > 0 && " + "}
      <BreakableName name={path} />
    </span>
  ));
}
