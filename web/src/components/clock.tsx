// Times that pass while a person looks at them.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

// Four steps a second: seconds never seem to jump.
const STEP_MS = 250;

const now = signal(Date.now());
let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** Return the time in milliseconds since 1970; the component is drawn again as it passes. */
export function useNow(): number {
  useEffect(() => {
    users += 1;
    now.value = Date.now();
    timer ??= setInterval(() => {
      now.value = Date.now();
    }, STEP_MS);
    return () => {
      users -= 1;
      if (users) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return now.value;
}

/** 341 → "5 min 41 s", 12 → "12 s" */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const minutes = Math.floor(whole / 60);
  return minutes ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

/** The time of a day, in the time zone of the browser. */
export function TimeOfDay({ time }: { time: string }): JSX.Element {
  const moment = new Date(time);
  const text = Number.isNaN(moment.getTime()) ? time : moment.toLocaleTimeString("en-GB");
  return (
    <time dateTime={time} title={time}>
      {text}
    </time>
  );
}
