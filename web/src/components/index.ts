// The parts that views are made of. web/README.md describes them.

export { Badge, type BadgeKind, Effect, Tier, Tokens } from "./badges";
export { Button, type ButtonProps, CopyButton, type CopyButtonProps } from "./button";
export { Code, type CodeProps, JsonCode } from "./code";
export { Field, type FieldIds, type FieldProps } from "./field";
export { Empty, FailureNotice, Notice, type NoticeProps } from "./notice";
export { Page, type PageProps } from "./page";
export { Skeleton } from "./skeleton";
export { type Tab, Tabs, type TabsProps } from "./tabs";
export { VirtualList, type VirtualListHandle, type VirtualListProps } from "./virtual-list";
