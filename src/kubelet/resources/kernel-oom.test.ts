import assert from "node:assert/strict";
import { test } from "node:test";
import { KernelOoms } from "./kernel-oom.ts";

const kill = (middle: string, task = "java") =>
  `oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,${middle},task=${task},pid=71,uid=0`;
const event = (name: string) => `System OOM encountered, victim process: ${name}, pid: 71`;

const cases: readonly [name: string, record: string, want: string[]][] = [
  ["the machine", `6,5,2000,-;${kill("global_oom,task_memcg=/kubepods/podx/c")}\n`, [event("java")]],
  ["a process outside of all groups", `6,5,2000,-;${kill("oom_memcg=/,task_memcg=/")}\n`, [event("java")]],
  ["a pod with a limit", `6,5,2000,-;${kill("oom_memcg=/kubepods/podx,task_memcg=/kubepods/podx/c")}\n`, []],
  ["a name with commas", `6,5,2000,-;${kill("global_oom,task_memcg=/a", "x,pid=1,uid=0")}\n`, [event("x,pid=1,uid=0")]],
  ["a name that looks like the machine's", `6,5,2000,-;${kill("oom_memcg=/p,task_memcg=/p", "global_oom")}\n`, []],
  ["an earlier time", `6,5,999,-;${kill("global_oom,task_memcg=/a")}\n`, []],
  ["something else", "6,5,2000,-;eth0: link up\n", []],
  ["text that is no record", "garbage", []],
  ["a very long name", `6,5,2000,-;${kill("global_oom,task_memcg=/a", "y".repeat(5000))}\n`, [event("y".repeat(64))]],
];
for (const [name, record, want] of cases) {
  test(`KernelOoms.read() of ${name}`, () => assert.deepEqual(new KernelOoms(1000).read(record), want));
}
