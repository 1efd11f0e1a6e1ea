/* What each rank holds of a value that was joined from them, the guilty ranks marked. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { shardsQuery } from "../../api/queries";
import type { AxisLayout, JoinedValue, Shard, ValuePair } from "../../api/types";
import { useDatabase } from "../../hooks/useDatabase";
import { useApp } from "../../state/store";
import { FailureNotice } from "../parts/FailureNotice";
import { NumberCell } from "../parts/NumberCell";

const STATISTICS = ["max", "min", "mean", "norm"] as const;

export function ShardTable({ node, value }: { node: number; value: ValuePair }) {
  const db = useApp((state) => state.db);
  const { data } = useDatabase();
  const merged = data?.summary.some(({ code }) => code === "merged") ?? false;
  const answer = useQuery({ ...shardsQuery(db ?? "", node), enabled: db !== null && merged });
  if (answer.isError) {
    return <FailureNotice error={answer.error} retry={() => void answer.refetch()} />;
  }
  const ids = [value.problem?.id, value.benchmark?.id];
  const joined = (answer.data?.values ?? []).filter(({ id }) => ids.includes(id));
  return joined.map((one) => <Joined key={one.id} joined={one} />);
}

function Joined({ joined: { side, layout, trust, shards } }: { joined: JoinedValue }) {
  const { t } = useTranslation();
  const ranks = new Set(shards.map(({ rank }) => rank)).size;
  return (
    <section className="shards" aria-label={t(`shards.${side}`)}>
      <p>
        <span className={`side-tag ${side}`}>{t(`side.${side}`)}</span>{" "}
        {ranks > 0 ? t("shards.title", { count: ranks }) : t("shards.agree")}{" "}
        {layout.map((axis) => (
          <Axis key={axis.axis} axis={axis} />
        ))}
        {trust !== null && trust !== "exact" && (
          <span className="tag" title={t(`shards.${trust}Hint`)}>
            {t(`shards.${trust}`)}
          </span>
        )}
      </p>
      {shards.length > 0 && <Ranks shards={shards} />}
    </section>
  );
}

function Axis({ axis: { axis, size, kind, dim } }: { axis: AxisLayout }) {
  const { t } = useTranslation();
  return <span className="tag">{`${axis} ${size}: ${t(`shards.kind${kind}`, { dim })}`}</span>;
}

function Ranks({ shards }: { shards: Shard[] }) {
  const { t } = useTranslation();
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">{t("header.rank")}</th>
          <th scope="col">{t("shards.place")}</th>
          <th scope="col">{t("details.shape")}</th>
          {STATISTICS.map((name) => (
            <th key={name} scope="col" className="number">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {shards.map((shard) => (
          <Rank key={`${shard.rank} ${JSON.stringify(shard.place)} ${shard.entry}`} shard={shard} />
        ))}
      </tbody>
    </table>
  );
}

function Rank({ shard }: { shard: Shard }) {
  const { t } = useTranslation();
  const place = Object.entries(shard.place).map(([axis, at]) => `${axis} ${at}`);
  return (
    <tr className={shard.guilty ? "worst" : undefined}>
      <th scope="row" title={`${shard.entry}\n${shard.dump_dir}`}>
        {shard.rank}
        {shard.guilty && <span className="tag differs">{t("shards.guilty")}</span>}
      </th>
      <td>{place.join(", ")}</td>
      <td>{shard.shape === null ? "" : `[${shard.shape.join(", ")}]`}</td>
      {STATISTICS.map((name) => (
        <NumberCell key={name} value={shard[name]} />
      ))}
    </tr>
  );
}
