/* Lint rules of the interface: typescript-eslint strict, hooks, accessibility. */
import js from "@eslint/js";
import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

export default tseslint.config(
  {
    ignores: [
      "node_modules/",
      "tb_graph_ascend/static/",
      ".venv/",
      "tb_graph_ascend/frontend/src/api/messages.ts", // written by openapi-typescript
    ],
  },
  js.configs.recommended,
  {
    files: ["**/*.ts", "**/*.tsx"],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "max-lines": ["error", 400],
    },
  },
  {
    files: ["tb_graph_ascend/frontend/**/*.tsx"],
    plugins: { "react-hooks": hooks },
    extends: [a11y.flatConfigs.strict],
    rules: {
      ...hooks.configs.recommended.rules,
      // The React compiler is not used, so what it would skip does not matter.
      "react-hooks/incompatible-library": "off",
    },
  },
  {
    files: ["webpack.config.js", "eslint.config.js"],
    languageOptions: { globals: { process: "readonly", console: "readonly" } },
  },
);
