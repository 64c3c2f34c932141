import type { JSX } from "preact";

import { Page } from "../components";

export function CatalogView(): JSX.Element {
  return <Page title="Catalog">{null}</Page>;
}
