// The parts that views are made of. web/README.md describes them.

export { Badge, BadgeLegend, type BadgeKind, Effect, Tier, Tokens } from "./badges";
export { Bar } from "./bar";
export { Button, type ButtonProps, CopyButton, type CopyButtonProps } from "./button";
export { TimeOfDay, formatSeconds, useNow } from "./clock";
export { Code, type CodeProps, JsonCode } from "./code";
export { Field, type FieldIds, type FieldProps } from "./field";
export { Empty, FailureNotice, Notice, type NoticeProps } from "./notice";
export { Page, type PageProps } from "./page";
export { PollFailure, PollSwitch } from "./poll-status";
export { SafeText } from "./safe-text";
export { Scroll } from "./scroll";
export { Skeleton } from "./skeleton";
export { type Tab, Tabs, type TabsProps } from "./tabs";
export { VirtualList, type VirtualListHandle, type VirtualListProps } from "./virtual-list";
