/* What is handed on with one click: the link to this view, and the slide with the answer. */

import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import type { Answer, Cause } from "../api/types";
import { files } from "../api/client";
import { answerQuery, queryClient } from "../api/queries";
import { copyText } from "../text/clipboard";
import { scoreText } from "../text/numbers";
import { guarded } from "../state/actions";
import { shareableAddress } from "../state/addressbar";
import { causeText } from "../state/causes";
import { download } from "../state/export";
import { slideOf } from "../state/former";
import { usePreferences } from "../state/preferences";
import { useShownCause } from "../state/showncause";
import { slideAsPng } from "../state/slide";
import { useApp } from "../state/store";
import { flushAddress } from "./useAddressBar";
import { useDatabase } from "./useDatabase";

export function useHandOn() {
  const { t } = useTranslation();
  const { data } = useDatabase();
  const copyLink = (): void => {
    flushAddress();
    void copyText(shareableAddress()).then(() => useApp.getState().set({ notice: t("notice.linkCopied") }));
  };
  const saveSlide = (form: "png" | "svg"): void => {
    if (!data) return;
    const take = async (): Promise<void> => {
      const answer = await queryClient.query(answerQuery(data.id));
      const { cause: read, also } = useShownCause.getState();
      const { cause, place } = slideOf(answer, read);
      const { language } = usePreferences.getState();
      const svg = await files.slide(data.id, language, slideReason(t, answer, cause), cause?.finding.node.id, also);
      const [content, type] = form === "svg" ? [svg, "image/svg+xml"] : [await slideAsPng(svg), "image/png"];
      const name = `${stemOf(data.path)}${place ? placed(place) : ""}-slide.${form}`;
      download(name, content, type);
    };
    void guarded(() => saveSlide(form), take);
  };
  return { copyLink, saveSlide };
}

/** What a slide says of the call that it shows: of a cause found before pairs were made, only where it stands. */
function slideReason(t: TFunction, { since }: Answer, cause: Cause | undefined): string {
  if (cause) return causeText(t, cause);
  return since?.node ? t("certainty.sinceSlide", { score: scoreText(since.node.score) }) : "";
}

/** A result file's name without its endings, with its folder where that says more, to name what is made of it. */
export function stemOf(path: string): string {
  const [name = "graph", folder] = path.replace(/\.vis\.db$/, "").split(/[\\/]/).filter(Boolean).reverse();
  return folder === undefined || name.startsWith(folder) ? name : `${folder}-${name}`;
}

/** What names a file further that is of one step and rank, or of all steps of a rank. */
export function placed({ step, rank }: { step?: number | undefined; rank?: number | undefined }): string {
  return `${step === undefined ? "" : `-step${step}`}${rank === undefined ? "" : `-rank${rank}`}`;
}
