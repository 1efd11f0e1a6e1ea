/* Nodes with an overflow level, where it begins first, or how to get the levels. */

import { useState } from "react";
import { useTranslation } from "react-i18next";

import type { Side } from "../../api/types";
import { OVERFLOW_SCORE } from "../../graph/appearance";
import { inkFill, rampFill } from "../../graph/ramp";
import { useDatabase, useNothingHere } from "../../hooks/useDatabase";
import { LevelKeys } from "../diff/LegendKeys";
import { Command } from "../parts/Command";
import { NodeRows } from "./NodeRows";
import { NonfiniteLines } from "./NonfiniteLine";
import { SideFilter } from "./SideFilter";

export function OverflowList() {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const [side, setSide] = useState<Side | "">("problem");
  const nothing = useNothingHere();
  if (!data) return <p className="message">{t("loading")}</p>;
  if (nothing !== null) return <p className="message">{nothing}</p>;
  if (!data.overflow_checked) {
    const benchmark = data.benchmark === null ? "" : ` -gp ${data.benchmark}`;
    return (
      <div className="message">
        <p>{t("lists.overflowMissing")}</p>
        <Command text={`msprobe graph_visualize -tp ${data.problem}${benchmark} -o graph_output -oc`} />
      </div>
    );
  }
  return (
    <>
      <div className="levels" title={t("legend.exempt")}>
        <LevelKeys />
      </div>
      {data.comparison && <SideFilter side={side} change={setSide} />}
      <NonfiniteLines side={side} />
      <NodeRows
        query={{ show: "overflow", side, sort: "overflow" }}
        empty={t("lists.overflowNone")}
        aside={({ overflow }) =>
          overflow && (
            <span
              className="chip"
              style={{
                background: rampFill(OVERFLOW_SCORE[overflow]),
                color: inkFill(OVERFLOW_SCORE[overflow]),
              }}
            >
              {t(`level.${overflow}`)}
            </span>
          )
        }
      />
    </>
  );
}
