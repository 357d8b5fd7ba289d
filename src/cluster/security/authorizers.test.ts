import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLog } from "#lib/process/log.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { decide } from "#server/authorize/chain.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { loadAuthorizers } from "./authorizers.ts";

const shy = (name: string): Authorizer => ({ name, authorize: () => ({ verdict: "no opinion", reason: name }) });
const builtIn = { Node: shy("node"), RBAC: shy("rbac") };
const jane = { name: "jane", groups: [] };
const fileOf = (...types: string[]): string =>
  JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthorizationConfiguration",
    authorizers: types.map((type) => ({ type, name: type.toLowerCase() })),
  });

test("loadAuthorizers() asks in the order of the flag", async () => {
  const log = silentLog;
  const deps = { clock: createVirtualClock(), log };
  using loaded = await loadAuthorizers({ modes: ["RBAC", "Node", "AlwaysDeny"] }, deps);

  assert.deepEqual(decide(loaded.chain(builtIn), jane, blankRequestInfo), {
    verdict: "no opinion",
    reason: "rbac\nnode\nEverything is forbidden.",
  });
});

test("a changed file replaces the chain, and a bad change does not", async () => {
  await using dir = await mkdtempDisposable(join(tmpdir(), "authorizers-"));
  const configFile = join(dir.path, "authz.json");
  await writeFile(configFile, fileOf("RBAC"));
  const clock = createVirtualClock();
  const logged: string[] = [];
  const note = (message: string) => void logged.push(message);
  const log = { ...silentLog, info: note, error: note };
  using loaded = await loadAuthorizers({ configFile }, { clock, log });
  const chain = loaded.chain(builtIn);
  const stop = new AbortController();
  const running = loaded.run(stop.signal).catch(() => {});
  const change = async (text: string): Promise<string> => {
    const before = logged.length;
    await writeFile(configFile, text);
    await clock.advance(10_000);
    while (logged.length === before) await new Promise(setImmediate);
    return (await decide(chain, jane, blankRequestInfo)).verdict;
  };

  assert.equal((await decide(chain, jane, blankRequestInfo)).verdict, "no opinion");
  assert.equal(await change(fileOf("RBAC", "AlwaysAllow")), "allow");
  assert.equal(await change(fileOf("AlwaysDeny")), "allow", "RBAC was there at the start");
  assert.equal(await change("{"), "allow");
  assert.equal(await change(fileOf("AlwaysDeny", "RBAC")), "no opinion");
  const kept = "the authorization configuration stays as it was";
  assert.deepEqual(logged.filter((message) => message === kept).length, 2);
  stop.abort();
  await running;
});
