/* How far apart a value is at each token, red as scores, with a mark at the first that is. */

import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";

import type { TokenCell, TokenLine as Line } from "../../api/types";
import { rampFill } from "../../graph/ramp";
import { type LineCell, byRequest } from "../../graph/tokenline";
import { scoreText } from "../../text/numbers";

export function TokenLine({ cells, line }: { cells: readonly TokenCell[]; line: Line }) {
  const { t } = useTranslation();
  const label = lineText(t, line);
  return (
    <figure className="token-line">
      <figcaption className="muted">{label}</figcaption>
      <div className="token-cells" role="img" aria-label={label}>
        {byRequest(cells, line).map((group, place) => (
          <span key={place} className="token-request" style={{ flexGrow: group.length }}>
            {group.map((one) => (
              <Cell key={`${one.cell.first.request} ${one.cell.first.position}`} one={one} />
            ))}
          </span>
        ))}
      </div>
    </figure>
  );
}

function Cell({ one }: { one: LineCell }) {
  const { t } = useTranslation();
  const { score, first } = one;
  return (
    <span
      className={["token-cell", first && "first", score === null && "hatched"].filter(Boolean).join(" ")}
      style={score === null ? {} : { background: rampFill(score) }}
      title={cellText(t, one)}
    />
  );
}

/** Where a value begins to be apart, and at how many tokens it is. */
function lineText(t: TFunction, { role, path, first, apart, tokens }: Line): string {
  const value = `${role}.${path}`;
  if (first === null) return t("tokens.agree", { value, tokens });
  return t("tokens.apart", { value, request: first.request, position: first.position, apart, of: tokens });
}

function cellText(t: TFunction, { cell: { first, last, tokens }, score }: LineCell): string {
  const told = score === null ? t("tokens.none") : t("tokens.score", { score: scoreText(score) });
  if (tokens === 1) return t("tokens.one", { request: first.request, position: first.position, told });
  const places = { from: `${first.request}/${first.position}`, to: `${last.request}/${last.position}` };
  return t("tokens.several", { ...places, tokens, told });
}
