/* The whole pair over execution order: where it is worst, where it begins, and what is in view. */

import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { paintProfile, rowOfShare, shareOfRow } from "../../graph/profilepaint";
import { useDiffPalette } from "../../hooks/useDiffPalette";
import { useLayout } from "../../state/layout";
import type { DiffView } from "../../state/diffview";
import { useApp } from "../../state/store";

const HEIGHT = 68;
const COMPACT_HEIGHT = 36;
const LOW_HEIGHT = 18;
const STEP = 0.05;

export function ProfileStrip({ diff }: { diff: DiffView }) {
  const { t } = useTranslation();
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const lens = useRef<HTMLDivElement>(null);
  const palette = useDiffPalette();
  const recolour = useApp((state) => state.recolour);
  const { compact, low } = useLayout();
  const height = low ? LOW_HEIGHT : compact ? COMPACT_HEIGHT : HEIGHT;
  const [width, setWidth] = useState(0);
  const { profile } = diff;

  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !canvas.current || !profile || width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.current.width = Math.round(width * ratio);
    canvas.current.height = Math.round(height * ratio);
    const phase = (name: string): string => t(`profile.${name}`, { defaultValue: name });
    paintProfile(context, { profile, width, height, ratio, palette, recolour, phase });
  }, [profile, width, height, palette, recolour, t]);

  useEffect(() => {
    const place = (): void => {
      if (!lens.current || !diff.window) return;
      const { bins } = diff.pages;
      const { top, rowHeight, last } = diff.window;
      const from = shareOfRow(top / rowHeight, bins) * width;
      const to = shareOfRow(last, bins) * width;
      lens.current.style.transform = `translateX(${from}px)`;
      lens.current.style.width = `${Math.max(6, to - from)}px`;
    };
    place();
    return diff.onMoved(place);
  }, [diff, diff.version, width]);

  const go = (share: number): void => {
    const half = (diff.pane?.visibleRows() ?? 0) / 2;
    diff.pane?.setTop(rowOfShare(share, diff.pages.bins) - half);
  };
  const onPointer = (event: PointerEvent<HTMLDivElement>): void => {
    if ((event.buttons & 1) === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    if (event.type === "pointerdown") event.currentTarget.setPointerCapture(event.pointerId);
    go((event.clientX - box.left) / box.width);
  };
  const share = diff.window ? shareOfRow(diff.window.top / diff.window.rowHeight, diff.pages.bins) : 0;
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -STEP, ArrowRight: STEP, Home: -1, End: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    go(Math.min(1, Math.max(0, share + step)));
  };
  return (
    <div
      className="profile"
      ref={frame}
      role="slider"
      tabIndex={0}
      aria-label={t("profile.label")}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      title={t("profile.help")}
      onPointerDown={onPointer}
      onPointerMove={onPointer}
      onKeyDown={onKeyDown}
    >
      <canvas ref={canvas} aria-hidden style={{ height }} />
      <div className="profile-lens" ref={lens} />
    </div>
  );
}
