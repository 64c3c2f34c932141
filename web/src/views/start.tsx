import type { JSX } from "preact";

import { Page } from "../components";

export function StartView(): JSX.Element {
  return <Page title="Start">{null}</Page>;
}
