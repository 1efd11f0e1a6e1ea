/* The way from a cause to the call that makes the first NaN behind it. */

import { useTranslation } from "react-i18next";

import type { Cause } from "../../api/types";
import { calledByName } from "../../graph/called";
import { goToNamed } from "../../state/actions";
import { nonfiniteMaker } from "../../state/causes";

export function NonfiniteMaker({ cause }: { cause: Cause }) {
  const { t } = useTranslation();
  const maker = nonfiniteMaker(cause);
  if (maker === null) return null;
  return (
    <button type="button" className="link" onClick={() => void goToNamed(cause.finding, maker)}>
      {t("answer.nonfiniteMaker", { maker: calledByName(maker) })}
    </button>
  );
}
