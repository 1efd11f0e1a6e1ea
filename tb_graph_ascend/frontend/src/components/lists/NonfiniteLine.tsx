/* The call that puts out the first NaN of the step on screen, by itself and in front of all levels. */

import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { nonfiniteQuery } from "../../api/queries";
import type { NonfiniteStart, Side } from "../../api/types";
import { calledAs } from "../../graph/called";
import { selectNode } from "../../state/actions";
import { useApp } from "../../state/store";

export function NonfiniteLines({ side }: { side: Side | "" }) {
  const { db, step, rank } = useApp();
  const { data } = useQuery(nonfiniteQuery(db, step, rank));
  const sides: readonly Side[] = side === "" ? ["problem", "benchmark"] : [side];
  return sides.map((one) => {
    const start = data?.[one] ?? null;
    return start && <NonfiniteLine key={one} start={start} />;
  });
}

function NonfiniteLine({ start: { node, state, value, given, given_state: held, infinity } }: { start: NonfiniteStart }) {
  const { t } = useTranslation();
  const facts = { state, value, given, held };
  const how = given === null ? "finite" : held === state ? "given" : "infinite";
  return (
    <p className="nonfinite-line">
      <button type="button" className="link" onClick={() => void selectNode(node.id)}>
        {calledAs(node)}
      </button>{" "}
      {t(`legend.nonfinite.${how}`, facts)}
      {infinity && (
        <>
          {`${t("strip.then")}${t("legend.nonfinite.infinity", { value: infinity.value })} `}
          <button type="button" className="link" onClick={() => void selectNode(infinity.node.id)}>
            {calledAs(infinity.node)}
          </button>
        </>
      )}
    </p>
  );
}
