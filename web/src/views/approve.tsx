import type { JSX } from "preact";

import { Page } from "../components";

export function ApproveView(): JSX.Element {
  return <Page title="Approve">{null}</Page>;
}
