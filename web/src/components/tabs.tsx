import type { ComponentChildren, JSX } from "preact";
import { useId, useRef, useState } from "preact/hooks";

export interface Tab {
  id: string;
  title: ComponentChildren;
  content: () => ComponentChildren;
}

export interface TabsProps {
  /** What the tabs are about, for screen readers. */
  label: string;
  tabs: readonly Tab[];
  /** The chosen tab, where the view keeps it; else the component does, beginning with the first. */
  selected?: string;
  onSelect?: (id: string) => void;
}

/** Tabs after the ARIA pattern: arrows, Home and End move; only the chosen panel is rendered. */
export function Tabs({ label, tabs, selected, onSelect }: TabsProps): JSX.Element | null {
  const prefix = useId();
  const [own, setOwn] = useState(tabs[0]?.id);
  const list = useRef<HTMLDivElement>(null);
  const current = tabs.find(({ id }) => id === (selected ?? own)) ?? tabs[0];
  if (!current) return null;
  const select = (id: string) => {
    setOwn(id);
    onSelect?.(id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const index = tabs.indexOf(current);
    const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: -1 }[event.key];
    const tab = next === undefined ? undefined : tabs.at(next % tabs.length);
    if (!tab) return;
    event.preventDefault();
    select(tab.id);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[tabs.indexOf(tab)]?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {tabs.map(({ id, title }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`${prefix}-tab-${id}`}
            aria-selected={id === current.id}
            aria-controls={`${prefix}-panel`}
            tabIndex={id === current.id ? 0 : -1}
            onClick={() => select(id)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${prefix}-panel`} aria-labelledby={`${prefix}-tab-${current.id}`} tabIndex={0} key={current.id}>
        {current.content()}
      </div>
    </div>
  );
}
