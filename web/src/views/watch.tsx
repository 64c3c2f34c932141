// Watch: what clients do at this server, as it happens.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import { getWatch } from "../api";
import type { Watch } from "../api-types";
import { Page, PollFailure, PollSwitch, Skeleton } from "../components";
import { Poller } from "../polling";
import { EMPTY_FEED, addAnswer } from "./watch/feed";
import { EmptySearches, LimitsLeft, WatchFigures } from "./watch/figures";
import { WatchTable } from "./watch/table";

// What a person takes for "at once"; an answer without news is some hundred bytes.
const INTERVAL_MS = 1000;

export function WatchView(): JSX.Element {
  const feed = useSignal(EMPTY_FEED);
  const poller = useMemo(() => {
    const load = (signal: AbortSignal) => getWatch(feed.peek().next, signal);
    const add = (answer: Watch) => {
      feed.value = addAnswer(feed.peek(), answer, Date.now());
    };
    return new Poller(load, add, INTERVAL_MS);
  }, [feed]);
  useEffect(() => poller.start(), [poller]);
  const { kind } = poller.state.value;
  const { latest } = feed.value;
  return (
    <Page
      title="Watch"
      lead="Calls and requests of all clients of this server, as they happen: names and figures, without arguments and answers."
      aside={<PollSwitch poller={poller} />}
    >
      <PollFailure poller={poller} />
      {latest === null ? (
        kind === "loading" && <Skeleton lines={6} label="Loading calls" />
      ) : (
        <>
          <WatchTable feed={feed.value} isLive={kind === "live"} />
          <WatchFigures answer={latest} />
          <LimitsLeft limits={latest.limits} />
          <EmptySearches searches={latest.empty_searches} />
        </>
      )}
    </Page>
  );
}
