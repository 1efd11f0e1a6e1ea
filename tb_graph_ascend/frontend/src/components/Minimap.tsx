/* The strip beside a pane: the whole graph, a frame around what is in view, click or drag to go. */

import type { MinimapParts } from "../hooks/useMinimap";

export function Minimap({ parts, label }: { parts: MinimapParts; label: string }) {
  const { canvas, lens, frame, onPointer } = parts;
  return (
    <div
      className="minimap"
      ref={frame}
      role="img"
      aria-label={label}
      onPointerDown={onPointer}
      onPointerMove={onPointer}
    >
      <canvas ref={canvas} aria-hidden />
      <div className="minimap-lens" ref={lens} />
    </div>
  );
}
