/* A defect of the page is said in words, with ways on; without this it would leave a blank page. */

import { Component, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

interface State {
  error: Error | null;
}

export class ErrorBoundary extends Component<{ children: ReactNode }, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return <Broken error={error} again={() => this.setState({ error: null })} />;
  }
}

function Broken({ error, again }: { error: Error; again: () => void }) {
  const { t } = useTranslation();
  return (
    <main className="gone" role="alert">
      <h1>{t("broken.title")}</h1>
      <p className="muted">{t("broken.help")}</p>
      <code>{error.stack ?? error.message}</code>
      <p>
        <button type="button" className="button primary" onClick={again}>
          {t("broken.again")}
        </button>{" "}
        <a className="button" href={window.location.pathname}>
          {t("broken.fresh")}
        </a>
      </p>
    </main>
  );
}
