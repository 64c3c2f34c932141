// Ask as a model: type a request, and read what a model reads, with its tokens.

import type { JSX } from "preact";

import { Ask } from "../ask/ask";
import { Page, Skeleton } from "../components";
import { loadedStart } from "../start-info";

export function AskView(): JSX.Element {
  const start = loadedStart();
  return (
    <Page title="Ask as a model" lead="Type a request, and read what a model gets: TOOL_LIST with the best tools, then TOOL_GET for one of them." class="wide">
      {start ? <Ask start={start} /> : <Skeleton lines={8} />}
    </Page>
  );
}
