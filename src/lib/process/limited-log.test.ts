import assert from "node:assert/strict";
import { test } from "node:test";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { limitedLog } from "./limited-log.ts";

test("limitedLog() limits repeated messages, and then says how many it left out", async () => {
  const clock = createVirtualClock();
  const lines: { message: string; [field: string]: unknown }[] = [];
  const log = limitedLog((line) => lines.push(JSON.parse(line)), { clock, level: "info" });
  const part = log.with({ component: "dns" });

  for (let index = 0; index < 5_000; index++) (index % 2 ? log : part).error("question failed", { index });
  log.info("something else");

  assert.equal(lines.filter(({ message }) => message === "question failed").length, 100);
  assert.equal(lines.at(-1)?.message, "something else");
  await clock.advance(10_000);
  const last = lines.at(-1);
  assert.equal(last?.message, "lines were left out");
  assert.deepEqual([last?.line, last?.lines], ["error question failed", 4_900]);
  log.error("question failed");
  assert.equal(lines.at(-1)?.message, "question failed", "a new period");
});

test("limitedLog() limits the total of different messages too", async () => {
  const clock = createVirtualClock();
  let written = 0;
  const limits = { same: 100, all: 250, whileMs: 1_000 };
  const log = limitedLog(() => written++, { clock, level: "info", limits });

  for (let index = 0; index < 1_000; index++) log.info(`message ${index % 10}`);

  assert.equal(written, 250);
});

test("lines below the level do not count, and are not reported as left out", async () => {
  const clock = createVirtualClock();
  const messages: string[] = [];
  const limits = { same: 10, all: 10, whileMs: 1_000 };
  const log = limitedLog((line) => messages.push(JSON.parse(line).message), { clock, level: "info", limits });

  for (let index = 0; index < 100; index++) log.with({ index }).debug(`detail ${index % 20}`);
  log.error("something is wrong");
  await clock.advance(1_000);

  assert.deepEqual(messages, ["something is wrong"]);
});
