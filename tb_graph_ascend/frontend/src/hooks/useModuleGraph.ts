/* The graph of the open module, laid out by a worker; what is on screen stays until the next is there. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { TFunction } from "i18next";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { boxesQuery } from "../api/queries";
import type { ModuleGraph } from "../api/types";
import { type BoxWords, LANES, boxSize, boxText, inputSize, inputText } from "../graph/boxlook";
import { EDGE_LOOKS } from "../graph/edgelook";
import { type Layout, layOut } from "../graph/layered";
import type { LayoutDone, LayoutWish } from "../graph/layout.worker";
import { useBoxes } from "../state/boxes";
import type { GraphSession } from "../state/session";
import { startLayoutWorker } from "../graph/layoutworker";

export interface Laid {
  graph: ModuleGraph;
  layout: Layout;
}

export function useModuleGraph(session: GraphSession) {
  const { t } = useTranslation();
  const { module, open, across } = useBoxes();
  const { step, rank } = session.pair;
  const asked = useQuery({
    ...boxesQuery(session.db, step, rank, module ?? 0, open),
    enabled: module !== null,
    placeholderData: keepPreviousData,
  });
  const [laid, setLaid] = useState<Laid | null>(null);
  const { data } = asked;
  const { comparison } = session;
  useEffect(() => {
    if (!data) return undefined;
    let wanted = true;
    const words = boxWords(t, comparison);
    void inWorker(wishOf(data, words, across)).then((layout) => wanted && setLaid({ graph: data, layout }));
    return () => {
      wanted = false;
    };
  }, [data, comparison, across, t]);
  const busy = asked.isFetching || laid?.graph !== data;
  return { laid, busy, error: asked.error, retry: asked.refetch };
}

/** The box of an input of the run among those of rows, whose places are 0 and above. */
export function inputId(index: number): number {
  return -1 - index;
}

/** What boxes say that is not in the dump. */
export function boxWords(t: TFunction, comparison: boolean): BoxWords {
  return { comparison, calls: (count) => t("diff.calls", { count }), unrecorded: t("boxes.noValues"), last: (output) => t("diff.last", { output }), weights: (shapes) => t("boxes.weights", { shapes }), alone: (side) => t(`diff.word.only_${side}`) };
}

function wishOf({ boxes, edges, inputs }: ModuleGraph, words: BoxWords, across: boolean): Omit<LayoutWish, "ticket"> {
  // What the run is fed was there before anything ran.
  const fed = inputs.map((input, index) => ({ id: inputId(index), parent: null, lane: 0, ...inputSize(inputText(input)) }));
  const placed = boxes.map((box) => {
    const opens = box.row.children > 0;
    const lane = LANES.indexOf(box.lane);
    return { id: box.place, parent: box.parent, lane, ...boxSize(boxText(box, words), opens) };
  });
  return {
    across,
    boxes: [...fed, ...placed],
    edges: [
      ...inputs.map(({ reader }, index) => ({ from: inputId(index), to: reader })),
      ...edges.map(({ producer, consumer, known }) => ({ from: producer, to: consumer, loose: !EDGE_LOOKS[known].arrow })),
    ],
  };
}

let worker: Worker | null | undefined;
let tickets = 0;

/** A worker where the page may have one, else here: at most 150 boxes take some milliseconds. */
function inWorker(wish: Omit<LayoutWish, "ticket">): Promise<Layout> {
  if (worker === undefined) worker = startLayoutWorker();
  const own = worker;
  if (own === null) return Promise.resolve(layOut(wish.boxes, wish.edges, wish.across));
  const ticket = ++tickets;
  return new Promise((done) => {
    const take = ({ data }: MessageEvent<LayoutDone>): void => {
      if (data.ticket !== ticket) return;
      stop();
      done(data.layout);
    };
    const failed = (): void => {
      stop();
      worker = null;
      done(layOut(wish.boxes, wish.edges, wish.across));
    };
    const stop = (): void => {
      own.removeEventListener("message", take);
      own.removeEventListener("error", failed);
    };
    own.addEventListener("message", take);
    own.addEventListener("error", failed);
    own.postMessage({ ...wish, ticket });
  });
}
