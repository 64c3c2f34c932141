import type { JSX } from "preact";

import { Page } from "../components";

export function ToolView(): JSX.Element {
  return <Page title="Tool">{null}</Page>;
}
