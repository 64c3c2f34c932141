import type { JSX } from "preact";

import { Page } from "../components";

export function AskView(): JSX.Element {
  return <Page title="Ask as a model">{null}</Page>;
}
