// The frame: skip link, header with navigation, the view of the route, footer, live region.

import type { ComponentType, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { Button, FailureNotice, Page } from "./components";
import { formatCount } from "./format";
import { keepFocus } from "./keep-focus";
import { type View, href, navigate, route } from "./router";
import { loadStart, loadedStart, startInfo } from "./start-info";
import { LiveRegion } from "./announce";
import { setTheme, theme } from "./theme";
import { ApproveView } from "./views/approve";
import { AskView } from "./views/ask";
import { CatalogView } from "./views/catalog";
import { StartView } from "./views/start";
import { ToolView } from "./views/tool";
import { TryView } from "./views/try";
import { WatchView } from "./views/watch";

const VIEWS: Record<Exclude<View, "not-found">, ComponentType> = {
  start: StartView,
  catalog: CatalogView,
  tool: ToolView,
  try: TryView,
  ask: AskView,
  watch: WatchView,
  approve: ApproveView,
};

const NAVIGATION: readonly { view: Exclude<View, "not-found" | "tool">; title: string }[] = [
  { view: "ask", title: "Ask" },
  { view: "catalog", title: "Catalog" },
  { view: "try", title: "Try" },
  { view: "watch", title: "Watch" },
  { view: "approve", title: "Approve" },
  { view: "start", title: "Connect" },
];

export function App(): JSX.Element {
  const main = useRef<HTMLElement>(null);
  const { view, name } = route.value;
  useFocusOnNavigation(main, `${view}/${name}`);
  useShortcuts();
  useEffect(() => keepFocus(main.current!), []);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), focusHeading(main.current))}>
        Skip to content
      </a>
      <Header />
      <main id="main" ref={main} class={`view-${view}`}>
        <CurrentView />
      </main>
      <Footer />
      <LiveRegion />
    </>
  );
}

function Header(): JSX.Element {
  const { view } = route.value;
  return (
    <header class="header">
      <a class="brand" href={href("ask")}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" />
          <path d="M8 9h16M8 16h11M8 23h6" />
        </svg>
        toolfold
      </a>
      <nav aria-label="Views">
        {NAVIGATION.map((entry) => (
          <a key={entry.view} href={href(entry.view)} aria-current={entry.view === view || (entry.view === "catalog" && view === "tool") ? "page" : undefined}>
            {entry.title}
          </a>
        ))}
      </nav>
      <ThemeSwitch />
    </header>
  );
}

function ThemeSwitch(): JSX.Element {
  const dark = theme.value === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme.value === "dark";
  return (
    <Button class="theme" label={`Use ${dark ? "light" : "dark"} colours`} onClick={() => setTheme(dark ? "light" : "dark")}>
      {dark ? "Light" : "Dark"}
    </Button>
  );
}

function CurrentView(): JSX.Element {
  const { view, name } = route.value;
  const info = startInfo.value;
  if (view === "not-found")
    return (
      <Page title="Not found" lead="No view has this address.">
        <p>
          Go to <a href={href("ask")}>Ask</a> or search the <a href={href("catalog")}>Catalog</a>.
        </p>
      </Page>
    );
  if (info.state === "failed")
    return (
      <Page title="toolfold">
        <FailureNotice error={info.error} onRetry={() => void loadStart()} />
      </Page>
    );
  const Shown = VIEWS[view];
  return <Shown key={`${view}/${name}`} />;
}

function Footer(): JSX.Element {
  const info = loadedStart();
  return (
    <footer class="footer">
      {info && (
        <>
          <span>toolfold {info.version}</span>
          <span>
            {formatCount(info.catalog.tools, "tool")}, catalog <code>{info.catalog.hash.slice(0, 8)}</code>
          </span>
        </>
      )}
      <a href="ui/licenses.txt">Licences</a>
    </footer>
  );
}

function focusHeading(main: HTMLElement | null): void {
  main?.querySelector<HTMLElement>("h1")?.focus();
}

function useFocusOnNavigation(main: { current: HTMLElement | null }, place: string): void {
  const last = useRef(place);
  useEffect(() => {
    if (last.current === place) return;
    last.current = place;
    scrollTo(0, 0);
    const field = route.peek().query.get("focus") === "search" && main.current?.querySelector<HTMLElement>("input[type=search]");
    if (field) field.focus();
    else focusHeading(main.current);
  }, [place]);
}

/** "/" goes to the search field of the catalog from anywhere, except while a person types. */
function useShortcuts(): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
      event.preventDefault();
      const field = document.querySelector<HTMLInputElement>("input[type=search]");
      if (field) field.select();
      else navigate(href("catalog", "", { focus: "search" }));
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
}
