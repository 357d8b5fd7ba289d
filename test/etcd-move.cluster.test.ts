import assert from "node:assert/strict";
import { readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { loadKubeconfig, resolveContext } from "#client/kubeconfig/kubeconfig.ts";
import { httpClient } from "#client/transport/http.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { startEtcd } from "#testing/peers/etcd.ts";
import { makeTempDir, type RunningServer, runOrlop, startServer } from "./support/server.ts";

let home: string;
before(() => {
  home = makeTempDir();
});
after(() => rmSync(home, { recursive: true, force: true }));

async function write({ kubeconfig }: RunningServer, name: string): Promise<void> {
  const { config } = await resolveContext(await loadKubeconfig({ path: kubeconfig, env: {} }), {});
  await using client = httpClient(config, { clock: systemClock, log: silentLog });
  await client.create(ConfigMap, { metadata: { namespace: "default", name } });
}

async function orlop(...args: string[]): Promise<{ code: number | null; stderr: string }> {
  const { code, stderr } = await runOrlop(args);
  return { code, stderr: stderr.replace(/^orlop: /, "") };
}

test("after a move to etcd and back, backups are of the live state, and old states are not served unnoticed", async () => {
  await using etcd = await startEtcd();
  const dataDir = path.join(home, "data");
  const [there, servers] = [["--data-dir", dataDir], etcd.endpoints.join(",")];
  const inEtcd = ["--etcd-servers", servers];
  const backup = async (): Promise<string> => {
    const file = path.join(home, "backup");
    const { code, stderr } = await orlop("backup", file, ...there);
    return code === 0 ? readFileSync(file, "utf8") : stderr;
  };
  const first = await startServer({ dataDir });
  await write(first, "early");
  await first.end("SIGTERM");
  assert.equal((await orlop("migrate", "--to", "etcd", ...there, ...inEtcd)).code, 0);

  const second = await startServer({ dataDir, args: inEtcd });
  await write(second, "late");
  const live = await backup();
  assert.match(live, /configmaps\/default\/late"/);
  const whileRunning = await orlop("migrate", "--to", "sqlite", ...there, ...inEtcd);
  await second.end("SIGTERM");
  const stopped = await backup();
  const forgotten = await orlop("server", "--port", "0", ...there);
  const again = await orlop("migrate", "--to", "etcd", ...there, ...inEtcd, "--etcd-prefix", "/other");
  renameSync(path.join(dataDir, "state.db"), path.join(home, "old.db"));
  const back = await orlop("migrate", "--to", "sqlite", ...there, ...inEtcd);
  const used = await orlop("server", "--port", "0", ...there, ...inEtcd);
  const last = await backup();

  assert.match(whileRunning.stderr, /server` runs with .*: stop it first/);
  assert.match(stopped, /^no server answers at https:\S+, which serves the state of .*: start it first/);
  const refusal = `the state of ${dataDir} was moved to etcd: add --etcd-servers ${servers}; to use the old state in state.db on purpose, remove ${dataDir}/moved-to-etcd\n`;
  assert.deepEqual([forgotten.stderr, again.stderr], [refusal, refusal]);
  assert.equal(back.code, 0, back.stderr);
  assert.equal(
    used.stderr,
    `the state of ${dataDir} was moved from etcd to its state.db: leave out --etcd-servers; to use the old state in etcd on purpose, remove ${dataDir}/moved-to-sqlite\n`,
  );
  assert.match(last, /configmaps\/default\/late"/);
});
