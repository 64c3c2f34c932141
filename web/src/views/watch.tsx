import type { JSX } from "preact";

import { Page } from "../components";

export function WatchView(): JSX.Element {
  return <Page title="Watch">{null}</Page>;
}
