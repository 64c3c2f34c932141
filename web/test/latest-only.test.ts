import assert from "node:assert/strict";
import { test } from "node:test";

import { LatestOnly } from "../src/latest-only";

const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

function controlled() {
  const open = new Map<string, (text: string) => void>();
  const shown: string[] = [];
  const runner = new LatestOnly<string, string>(
    (input) => new Promise((resolve) => open.set(input, resolve)),
    (output, input) => shown.push(`${input}=${output}`),
  );
  const answer = async (input: string) => {
    open.get(input)?.(input.toUpperCase());
    open.delete(input);
    await settle();
  };
  return { runner, shown, answer, started: () => [...open.keys()] };
}

test("first input is loaded at once, and only the newest of those that wait", async () => {
  const { runner, shown, answer, started } = controlled();
  for (const text of ["o", "oi", "oil"]) runner.run(text);
  assert.deepEqual(started(), ["o"]);
  await answer("o");
  assert.deepEqual(started(), ["oil"]);
  assert.deepEqual(shown, []);
  await answer("oil");
  assert.deepEqual(shown, ["oil=OIL"]);
});

test("cancelled input is not shown, and the next one is loaded", async () => {
  const { runner, shown, answer } = controlled();
  runner.run("o");
  runner.cancel();
  await answer("o");
  runner.run("gold");
  await answer("gold");
  assert.deepEqual(shown, ["gold=GOLD"]);
});
