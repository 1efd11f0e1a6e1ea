/* Builds the interface into tb_graph_ascend/static: a stable index.js that TensorBoard imports as
 * its es_module, index.html for `msprobe serve`, and chunks named by the hash of their content; and
 * page.js with all in one, which `msprobe page` writes into a file. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import CssMinimizerPlugin from "css-minimizer-webpack-plugin";
import TerserPlugin from "terser-webpack-plugin";
import HtmlWebpackPlugin from "html-webpack-plugin";
import MiniCssExtractPlugin from "mini-css-extract-plugin";
import webpack from "webpack";

const root = dirname(fileURLToPath(import.meta.url));
const frontend = resolve(root, "tb_graph_ascend/frontend");
const target = "es2022";

const rules = [
  { test: /\.tsx?$/, loader: "esbuild-loader", options: { target, jsx: "automatic" } },
  { test: /\.css$/, use: [MiniCssExtractPlugin.loader, "css-loader"] },
];
const minimizer = [
  new TerserPlugin({ extractComments: false, terserOptions: { ecma: 2020, module: true, compress: { passes: 2 }, format: { comments: false } } }),
  new CssMinimizerPlugin(),
];
const common = { target: ["web", target], resolve: { extensions: [".tsx", ".ts", ".js"] }, devtool: false };

const served = {
  ...common,
  entry: { index: resolve(frontend, "src/index.ts") },
  experiments: { outputModule: true },
  output: {
    path: resolve(root, "tb_graph_ascend/static"),
    filename: "[name].js",
    chunkFilename: "[name].[contenthash:12].js",
    library: { type: "module" },
    module: true,
    publicPath: "auto",
    clean: { keep: /^page\./ },
  },
  module: { rules },
  optimization: {
    // The stable index.js is fetched anew each time, so it stays tiny; all else is cached by hash.
    splitChunks: {
      chunks: "async",
      cacheGroups: { vendor: { test: /node_modules/, name: "vendor", chunks: "async" } },
    },
    chunkIds: "named",
    minimizer,
  },
  plugins: [
    new MiniCssExtractPlugin({
      filename: "[name].css",
      chunkFilename: "[name].[contenthash:12].css",
    }),
    new HtmlWebpackPlugin({
      // As text: the plugin's own template loader writes code that strict mode forbids.
      templateContent: readFileSync(resolve(frontend, "index.html"), "utf8"),
      scriptLoading: "module",
      hash: false,
    }),
  ],
  performance: { hints: "error", maxAssetSize: 1_000_000, maxEntrypointSize: 50_000 },
};

/* The same interface as one script and one sheet, which `msprobe page` writes into a file. */
const page = {
  ...common,
  entry: { page: resolve(frontend, "src/page.ts") },
  output: { path: resolve(root, "tb_graph_ascend/static"), filename: "[name].js" },
  module: { rules, parser: { javascript: { dynamicImportMode: "eager" } } },
  optimization: { minimizer },
  plugins: [
    new MiniCssExtractPlugin({ filename: "[name].css" }),
    new webpack.NormalModuleReplacementPlugin(/\/layoutworker$/, (wanted) => {
      wanted.request = wanted.request.replace("layoutworker", "nolayoutworker");
    }),
  ],
  performance: { hints: "error", maxAssetSize: 2_000_000, maxEntrypointSize: 2_000_000 },
};

export default [served, page];
