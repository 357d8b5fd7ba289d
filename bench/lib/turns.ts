import { createServer } from "node:http";
import { assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { systemClock } from "#lib/async/clock.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { openMemoryStore } from "#store/memory.ts";
import { type Store } from "#store/store.ts";
import { ask, type Said } from "#testing/peers/ask.ts";
import { definition, hugeDefinition, ruledDefinition } from "./definitions.ts";

export interface Turn {
  readonly name: string;
  readonly ms: number;
}

const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** The CPU time of the longest turn of the event loop while the work runs. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let isOver = false;
  let longest = 0;
  const tick = (last: number): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    if (!isOver) setImmediate(tick, now);
  };
  setImmediate(tick, cpuMs());
  await work();
  isOver = true;
  await new Promise((resolve) => setImmediate(resolve));
  return longest;
}

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

const documents = { v2: "/openapi/v2", v3: "/openapi/v3/apis/bench.example.com/v1" };

/** Has every field, so that every rule is needed. */
const allFields = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`field${index}`, { a: "a" }]));

/** In this process, as only it can tell its turns apart. */
export async function measureTurns(): Promise<Turn[]> {
  const turns: Turn[] = [];
  // As in a server: the modules that a socket needs are there.
  createServer().close();
  await using store = openMemoryStore({ clock: systemClock });
  const measure = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    turns.push({ name, ms: await longestTurn(work) });
  };
  {
    await using server = await start(store);
    await measure("the first definition of a process", () => server.define(definition(0), "things0"));
    await measure("the first object of the first definition", () => server.create("Things0", "things0"));
    await measure("a definition with 200 rules", () => server.define(ruledDefinition(200), "ruled"));
  }
  {
    await using server = await start(store);
    await measure("the first object after a start, checked by 200 rules", () =>
      server.create("Ruled", "ruled", allFields),
    );
    for (let n = 0; n < 25; n++)
      await measureMost(turns, "25 huge definitions, one after the other", () =>
        server.define(hugeDefinition(n), `huge${n}`),
      );
    await measure("OpenAPI v2 with them", () => server.fetch("/openapi/v2"));
    await measure("OpenAPI v3 with them", () => server.fetch("/openapi/v3/apis/bench.example.com/v1"));
    await server.define(definition(1), "things1");
    for (const [name, path] of Object.entries(documents)) {
      const before = cpuMs();
      await server.fetch(path);
      turns.push({ name: `OpenAPI ${name} after one more definition, all turns together`, ms: cpuMs() - before });
    }
    await measure("the first object of a huge definition", () => server.create("Huge0", "huge0"));
  }
  return turns;
}

async function measureMost(turns: Turn[], name: string, work: () => Promise<unknown>): Promise<void> {
  const ms = await longestTurn(work);
  const known = turns.findIndex((turn) => turn.name === name);
  if (known < 0) turns.push({ name, ms });
  else turns[known] = { name, ms: Math.max(ms, turns[known]?.ms ?? 0) };
}

async function start(store: Store) {
  const parts = { store, clock: systemClock, log: silentLog, random: seededRandom(1) };
  const key = signingKey(keyToPem(createKey()));
  const api = await assembleApiServer({ ...parts, signingKey: key, serverAddress: "127.0.0.1:6443" });
  await bootstrapCluster(api.loopback);
  const send = (line: string, body?: object): Promise<Said> => ask(api.server, line, body ? { body } : {});
  const listOf = (plural: string) => `/apis/bench.example.com/v1/namespaces/default/${plural}`;
  return {
    /** The answer is not parsed: that would be the client's work. */
    async fetch(path: string): Promise<void> {
      const peer = { address: "127.0.0.1", user: { name: "admin", groups: ["system:masters"] } };
      const request = { method: "GET", path, query: "", headers: {}, body: undefined, signal: neverAborted, peer };
      const { wire } = await api.server.serve(request);
      if (wire.type !== "body" || wire.status !== 200) throw new Error(`${path} was not answered`);
    },
    async define(body: object, plural: string): Promise<void> {
      const said = await send(`POST ${path}`, body);
      if (said.status !== 201) throw new Error(String(said.json.message));
      while ((await send(`GET ${listOf(plural)}`)).status !== 200) await systemClock.sleep(2);
    },
    async create(kind: string, plural: string, spec: object = {}): Promise<void> {
      const metadata = { name: `o${Math.floor(performance.now())}` };
      const said = await send(`POST ${listOf(plural)}`, {
        apiVersion: "bench.example.com/v1",
        kind,
        metadata,
        spec,
      });
      if (said.status !== 201) throw new Error(String(said.json.message));
    },
    async [Symbol.asyncDispose]() {
      await api[Symbol.asyncDispose]();
    },
  };
}
