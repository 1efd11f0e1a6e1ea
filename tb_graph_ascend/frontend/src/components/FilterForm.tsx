/* Filters and order of the findings. */

import { useTranslation } from "react-i18next";

import { useDatabase } from "../hooks/useDatabase";
import { type FindingFilter, useApp } from "../state/store";

const SORTS = ["diagnosis", "score", "introduced", "order", "name"] as const;

export function FilterForm() {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const filter = useApp((state) => state.filter);
  const allPairs = useApp((state) => state.allPairs);
  const set = useApp((state) => state.set);
  const change = (part: Partial<FindingFilter>): void => set({ filter: { ...filter, ...part } });
  return (
    <div className="filter-form">
      <label>
        {t("findings.name")}
        <input value={filter.name} onChange={({ target }) => change({ name: target.value })} />
      </label>
      <label>
        {t("findings.minScore")}
        <input
          type="number"
          min={0}
          max={1}
          step={0.05}
          value={filter.minScore}
          onChange={({ target }) => change({ minScore: Number(target.value) })}
        />
      </label>
      <Choice
        label={t("findings.verdict")}
        group="verdict"
        values={["error", "warning", "pass"]}
        value={filter.verdict}
        change={(verdict) => change({ verdict })}
      />
      <Choice
        label={t("findings.direction")}
        group="direction"
        values={["forward", "backward"]}
        value={filter.direction}
        change={(direction) => change({ direction })}
      />
      <Choice
        label={t("findings.kind")}
        group="kind"
        values={["module", "api"]}
        value={filter.kind}
        change={(kind) => change({ kind })}
      />
      <label>
        {t("findings.sort")}
        <select
          value={filter.sort}
          onChange={({ target }) => change({ sort: target.value as FindingFilter["sort"] })}
        >
          {SORTS.map((sort) => (
            <option key={sort} value={sort}>
              {t(`sort.${sort}`)}
            </option>
          ))}
        </select>
      </label>
      {(data?.pairs.length ?? 0) > 1 && (
        <label className="wide">
          {t("findings.scope")}
          <select
            value={allPairs ? "all" : "this"}
            onChange={({ target }) => set({ allPairs: target.value === "all" })}
          >
            <option value="this">{t("findings.thisPair")}</option>
            <option value="all">{t("findings.allPairs")}</option>
          </select>
        </label>
      )}
    </div>
  );
}

interface ChoiceProps {
  label: string;
  group: string;
  values: string[];
  value: string;
  change: (value: string) => void;
}

function Choice({ label, group, values, value, change }: ChoiceProps) {
  const { t } = useTranslation();
  return (
    <label>
      {label}
      <select value={value} onChange={({ target }) => change(target.value)}>
        <option value="">{t("findings.any")}</option>
        {values.map((one) => (
          <option key={one} value={one}>
            {t(`${group}.${one}`)}
          </option>
        ))}
      </select>
    </label>
  );
}
