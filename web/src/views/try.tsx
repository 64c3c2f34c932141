import type { JSX } from "preact";

import { Page } from "../components";

export function TryView(): JSX.Element {
  return <Page title="Try">{null}</Page>;
}
