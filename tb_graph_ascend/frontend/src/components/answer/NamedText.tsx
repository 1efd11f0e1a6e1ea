/* A sentence whose calls and modules are ways to them, told as the rows tell them. */

import type { Side } from "../../api/types";
import { namedPieces } from "../../graph/named";
import { goToNamed } from "../../state/actions";
import type { Cell } from "../../state/places";

interface Props {
  sentence: string;
  /** The step and rank that the sentence is of. */
  at: Cell;
  /** On which side a name is looked for first. */
  sideOf: (name: string) => Side;
}

export function NamedText({ sentence, at, sideOf }: Props) {
  return namedPieces(sentence).map(({ text, name }, index) =>
    name === null ? (
      text
    ) : (
      <button key={index} type="button" className="link mono" title={name} onClick={() => void goToNamed(at, name, sideOf(name))}>
        {text}
      </button>
    ),
  );
}
