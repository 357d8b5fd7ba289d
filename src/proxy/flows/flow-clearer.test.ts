import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "#lib/process/log.ts";
import { CommandError } from "#lib/process/processes.ts";
import { type Host } from "../apply.ts";
import { FlowClearer } from "./flow-clearer.ts";

const line = (dst: string, dport: number, from: string): string =>
  `udp      17 29 src=10.244.0.9 dst=${dst} sport=5000 dport=${dport} src=${from} dst=10.244.0.9 sport=53 dport=5000 mark=0 use=1`;

/** A kernel with these flows, which counts every run of a program. */
class FlowHost implements Host {
  readonly flows: Set<string>;
  listings = 0;
  readonly batches: string[][] = [];

  constructor(flows: Iterable<string>) {
    this.flows = new Set(flows);
  }
  async run(_command: string, _args: readonly string[], input = ""): Promise<string> {
    const orders = input.trimEnd().split("\n");
    this.batches.push(orders);
    for (const order of orders) {
      const [, dst = "", port = "", from = ""] =
        /--orig-dst (\S+) --orig-port-dst (\S+) --reply-src (\S+)$/.exec(order) ?? [];
      this.flows.delete(line(dst, Number(port), from));
    }
    return "";
  }
  async eachLine(_command: string, _args: readonly string[], each: (text: string) => void): Promise<void> {
    this.listings++;
    for (const flow of this.flows) each(flow);
  }
  async readSetting(): Promise<undefined> {}
  async writeSetting(): Promise<void> {}
  async addresses(): Promise<string[]> {
    return ["192.0.2.1"];
  }
}

/** Runs a clearer until nothing is left to clear. */
async function clear(host: Host, add: (clearer: FlowClearer) => void): Promise<void> {
  const cleared = Promise.withResolvers<void>();
  const clearer = new FlowClearer({ host, family: "ip", log: silentLog, onCleared: () => cleared.resolve() });
  const stop = new AbortController();
  const running = clearer.run(stop.signal).catch(() => {});
  add(clearer);
  await cleared.promise;
  stop.abort();
  await running;
}

const toPort = (port: number, target: string | undefined, address: string | undefined = "10.96.0.10") => ({
  ...{ address, port, target },
});

test("a FlowClearer clears flows to a removed endpoint and flows without one, and no others", async () => {
  const kept = [
    line("10.96.0.10", 53, "10.244.0.2"),
    line("8.8.8.8", 30053, "8.8.8.8"),
    line("10.96.0.11", 53, "10.244.0.1"),
  ];
  const stale = [
    line("10.96.0.10", 53, "10.244.0.1"),
    line("10.96.0.10", 54, "10.96.0.10"),
    line("192.0.2.1", 30053, "192.0.2.1"),
  ];
  const host = new FlowHost([...kept, ...stale]);

  await clear(host, (clearer) => {
    clearer.add("a", [
      toPort(53, "10.244.0.1"),
      toPort(54, undefined),
      { ...toPort(30053, undefined), address: undefined },
    ]);
  });

  assert.deepEqual([...host.flows], kept);
  assert.equal(host.batches.length, 1);
});

test("3,000 stale destinations cost one listing without flows, and one run per 250 flows", async () => {
  const places = Array.from({ length: 3_000 }, (_, index) => toPort(1 + index, "10.244.0.1"));
  const empty = new FlowHost([]);
  await clear(empty, (clearer) => clearer.add("a", places));
  const full = new FlowHost(places.map(({ port }) => line("10.96.0.10", port, "10.244.0.1")));
  await clear(full, (clearer) => clearer.add("a", places));

  assert.deepEqual([empty.listings, empty.batches.length], [1, 0]);
  assert.deepEqual([full.flows.size, full.batches.length, full.listings], [0, 12, 13]);
});

test("an owner's flows do not wait for all flows of another", async () => {
  const flood = Array.from({ length: 2_000 }, (_, index) => toPort(1 + index, "10.244.0.1"));
  const host = new FlowHost(
    [...flood, toPort(53, "10.244.0.1", "10.96.0.99")].map(({ address, port }) =>
      line(address ?? "", port, "10.244.0.1"),
    ),
  );

  await clear(host, (clearer) => {
    clearer.add("flood", flood);
    clearer.add("victim", [toPort(53, "10.244.0.1", "10.96.0.99")]);
  });

  assert.match(host.batches[0]?.join("\n") ?? "", /10\.96\.0\.99/);
});

test("flows that cannot be cleared are given up, and all are without conntrack", async () => {
  const stubborn = new FlowHost([line("10.96.0.10", 53, "10.244.0.1")]);
  stubborn.run = async () => {
    stubborn.batches.push([]);
    throw new CommandError("conntrack -R -", 1, "Operation failed");
  };
  await clear(stubborn, (clearer) => clearer.add("a", [toPort(53, "10.244.0.1")]));
  const missing = new FlowHost([]);
  missing.eachLine = async () => {
    missing.listings++;
    throw new CommandError("conntrack", undefined, "spawn conntrack ENOENT");
  };
  await clear(missing, (clearer) => clearer.add("a", [toPort(53, "10.244.0.1")]));

  assert.equal(stubborn.batches.length, 5);
  assert.equal(missing.listings, 1);
});
