/* Words about lines over tokens, in Chinese. */

import type { tokensEn } from "./tokens.en";

export const tokensZh: Record<keyof typeof tokensEn, string> = {
  label: "Token",
  apart: "{{value}}：最先在请求 {{request}} 的位置 {{position}} 不同（已描边）；{{of}} 个 token 中有 {{apart}} 个不同",
  agree: "{{value}}：全部 {{tokens}} 个 token 一致",
  one: "请求 {{request}}，位置 {{position}}：{{told}}",
  several: "{{tokens}} 个 token，请求/位置 {{from}} 至 {{to}}：{{told}}",
  score: "分数 {{score}}",
  none: "没有数值",
};
