/* The way from a cause to the call that makes the first NaN behind it. */

import { useTranslation } from "react-i18next";

import type { Cause } from "../../api/types";
import { calledByName } from "../../graph/called";
import { goToNamed } from "../../state/actions";
import { nonfiniteMaker } from "../../state/causes";
import { useApp } from "../../state/store";

export function NonfiniteMaker({ cause }: { cause: Cause }) {
  const { t } = useTranslation();
  const maker = nonfiniteMaker(cause);
  const { step } = cause.finding;
  const isHere = useApp((state) => state.step === step);
  if (maker === null) return null;
  return (
    <button type="button" className="link" onClick={() => void goToNamed(cause.finding, maker)}>
      {t(isHere ? "answer.nonfiniteMaker" : "answer.nonfiniteMakerIn", { maker: calledByName(maker), step })}
    </button>
  );
}
