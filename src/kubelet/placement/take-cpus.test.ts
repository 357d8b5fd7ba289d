import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCpuSet, renderCpuSet } from "#lib/data/cpu-set.ts";
import { takeCpus } from "./take-cpus.ts";
import { aMachine } from "./testing-machine.ts";

const set = (text: string) => parseCpuSet(text) ?? new Set<number>();

// Two sockets, each a NUMA node with 4 cores of 2 threads: 0-7 are first threads, 8-15 their siblings.
const twoSockets = aMachine({ sockets: 2, nodesPerSocket: 1, cores: 4, threads: 2 });
// One socket of two NUMA nodes with 4 cores of one thread each.
const twoNodes = aMachine({ sockets: 1, nodesPerSocket: 2, cores: 4, threads: 1 });
// One socket with 8 cores of 2 threads; 4 cores share a cache.
const twoCaches = aMachine({ sockets: 1, nodesPerSocket: 1, cores: 8, threads: 2, coresPerCache: 4 });

const cases = [
  { name: "one thread of the lowest core", machine: twoSockets, count: 1, want: "0" },
  { name: "a whole core", machine: twoSockets, count: 2, want: "0,8" },
  { name: "a core and a thread", machine: twoSockets, count: 3, want: "0-1,8" },
  { name: "a whole socket", machine: twoSockets, count: 8, want: "0-3,8-11" },
  {
    name: "a whole socket, though the other has lower numbers",
    machine: twoSockets,
    free: "1-15",
    count: 8,
    want: "4-7,12-15",
  },
  { name: "what fills a part of the machine", machine: twoSockets, free: "1-15", count: 2, want: "1,9" },
  { name: "the rest of a core before another is begun", machine: twoSockets, free: "1-15", count: 1, want: "8" },
  { name: "a NUMA node of a socket", machine: twoNodes, count: 4, want: "0-3" },
  { name: "the fuller NUMA node first", machine: twoNodes, free: "0-3,6-7", count: 2, want: "6-7" },
  { name: "a NUMA node and a core of the other", machine: twoNodes, count: 5, want: "0-4" },
  { name: "everything", machine: twoSockets, count: 16, want: "0-15" },
  { name: "nothing", machine: twoSockets, count: 0, want: "" },
  { name: "a whole cache", machine: twoCaches, free: "1-15", count: 8, prefersCache: true, want: "4-7,12-15" },
  { name: "cores of one cache", machine: twoCaches, free: "2-15", count: 6, prefersCache: true, want: "4-6,12-14" },
  {
    name: "cores of two caches if need be",
    machine: twoCaches,
    free: "2-5,10-13",
    count: 6,
    prefersCache: true,
    want: "2-4,10-12",
  },
];
for (const { name, machine, free, count, prefersCache = false, want } of cases) {
  test(`takeCpus() takes ${name}`, () => {
    const all = machine.cpus;
    const from = free === undefined ? new Set(all.map(({ id }) => id)) : set(free);

    assert.equal(renderCpuSet(takeCpus({ all, free: from, count, prefersCache })), want);
  });
}

test("takeCpus() says how many there are if they do not suffice", () => {
  const request = { all: twoNodes.cpus, free: set("0-2"), count: 4, prefersCache: false };

  assert.throws(() => takeCpus(request), /not enough cpus available to satisfy request: requested=4, available=3/);
});
