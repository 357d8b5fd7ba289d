/**
 * Measures custom resource definitions: what each of many costs until it is used, what a custom resource costs beside a
 * built-in one of the same size, and the longest turns of the event loop that definitions cause.
 * `npm run bench -- crds [--definitions N] [--objects N] [--turns]`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { tempDir } from "./boot.ts";
import { Connections, json } from "./lib/connections.ts";
import { definition, mapDefinition } from "./lib/definitions.ts";
import { inFlight } from "./lib/in-flight.ts";
import { fillCompileCache, type ServerProcess, startServer } from "./lib/server-process.ts";
import { measureTurns } from "./lib/turns.ts";
import { type Usage, usageOf } from "./lib/usage.ts";

const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const print = (name: string, value: number, unit: string) =>
  process.stdout.write(`${value.toFixed(value < 10 ? 2 : 0).padStart(10)}  ${unit.padEnd(14)}${name}\n`);

export async function runCrds(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      definitions: { type: "string", default: "1000" },
      objects: { type: "string", default: "5000" },
      turns: { type: "boolean", default: false },
    },
  });
  if (values.turns) return await printTurns();
  await fillCompileCache();
  await measureMany(Number(values.definitions));
  await measureCreates(Number(values.objects));
  await printTurns();
}

async function printTurns(): Promise<void> {
  process.stdout.write("longest turns of the event loop, ms of CPU of its thread\n");
  for (const { name, ms } of await measureTurns()) print(name, ms, "ms");
}

async function measureMany(count: number): Promise<void> {
  process.stdout.write(`${count} definitions, of ${json(definition(0)).length} bytes each\n`);
  using empty = tempDir();
  using full = tempDir();
  {
    await using server = await startServer(full.path);
    const before = usageOf(server.pid);
    await fill(server, count);
    print("to create one and serve it", (usageOf(server.pid).cpuMs - before.cpuMs) / count, "ms of CPU");
  }
  const without = await atRest(empty.path);
  const withAll = await atRest(full.path);
  print("each, to start a server with them", (withAll.cpuMs - without.cpuMs) / count, "ms of CPU");
  print("each, in a server at rest", ((withAll.residentMiB - without.residentMiB) * 1024) / count, "KiB");
}

async function fill(server: ServerProcess, count: number): Promise<void> {
  using connections = new Connections(server, 4);
  await inFlight({ count, width: 16 }, (n) => connections.call({ method: "POST", path, body: json(definition(n)) }));
  await untilServed(connections, count - 1);
}

async function untilServed(connections: Connections, n: number): Promise<void> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    const { spec } = definition(n);
    const list = `/apis/${spec.group}/v1/${spec.names.plural}`;
    const isServed = await connections.call({ method: "GET", path: list }).then(
      () => true,
      () => false,
    );
    if (isServed) return;
    await sleep(20);
  }
  throw new Error(`definition ${n} is not served`);
}

/** A server that has started and done nothing else. */
async function atRest(dir: string): Promise<Usage> {
  await using server = await startServer(dir);
  await sleep(3000);
  return usageOf(server.pid);
}

/** The same content in a ConfigMap and in a custom resource, alternately. */
async function measureCreates(count: number): Promise<void> {
  using dir = tempDir();
  await using server = await startServer(dir.path, ["--store", "memory"]);
  using connections = new Connections(server, 4);
  await connections.call({ method: "POST", path, body: json(mapDefinition) });
  const { group, names } = mapDefinition.spec;
  const data = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`key${index}`, "value ".repeat(5)]));
  const custom = `/apis/${group}/v1/namespaces/default/${names.plural}`;
  await untilList(connections, custom);
  const create = async (at: string, kind: string, apiVersion: string, round: number): Promise<number> => {
    const before = usageOf(server.pid).cpuMs;
    await inFlight({ count: count / 5, width: 16 }, (n) => {
      const body = json({ apiVersion, kind, metadata: { name: `${kind.toLowerCase()}-${round}-${n}` }, data });
      return connections.call({ method: "POST", path: at, body });
    });
    return (usageOf(server.pid).cpuMs - before) / (count / 5);
  };
  const builtIn: number[] = [];
  const ours: number[] = [];
  for (let round = 0; round < 6; round++) {
    builtIn.push(await create("/api/v1/namespaces/default/configmaps", "ConfigMap", "v1", round));
    ours.push(await create(custom, names.kind, `${group}/v1`, round));
  }
  const least = (times: readonly number[]) => Math.min(...times.slice(1));
  process.stdout.write("the same content, least of five rounds\n");
  print("a ConfigMap", least(builtIn), "ms of CPU");
  print("a custom resource", least(ours), "ms of CPU");
  print("the second by the first", least(ours) / least(builtIn), "times");
}

async function untilList(connections: Connections, list: string): Promise<void> {
  while (
    await connections.call({ method: "GET", path: list }).then(
      () => false,
      () => true,
    )
  ) {
    await sleep(10);
  }
}
