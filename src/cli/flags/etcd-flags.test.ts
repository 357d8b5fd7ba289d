import assert from "node:assert/strict";
import { test } from "node:test";
import { etcdSettings } from "./etcd-flags.ts";

test("members are named by scheme, host and port", async () => {
  const settings = await etcdSettings({ "etcd-servers": "https://10.0.0.1:2379, http://[::1]:2379/" });

  assert.deepEqual(settings, { servers: ["https://10.0.0.1:2379", "http://[::1]:2379"], prefix: "/registry", tls: {} });
  assert.equal(await etcdSettings({}), undefined);
});

const bad: readonly [Parameters<typeof etcdSettings>[0], RegExp][] = [
  [{ "etcd-servers": "10.0.0.1:2379" }, /--etcd-servers must be URLs such as/],
  [{ "etcd-servers": "https://a:1,," }, /not ""/],
  [{ "etcd-servers": "https://user:secret@a:1" }, /--etcd-servers must be URLs/],
  [{ "etcd-servers": "https://a:1/path" }, /--etcd-servers must be URLs/],
  [{ "etcd-servers": "unix:///run/etcd.sock" }, /--etcd-servers must be URLs/],
  [{ "etcd-servers": Array.from({ length: 17 }, () => "https://a:1").join(",") }, /more than 16/],
  [{ "etcd-servers": "https://a:1", "etcd-prefix": "registry" }, /--etcd-prefix must be a path/],
  [{ "etcd-servers": "https://a:1", "etcd-prefix": "/a/../b\0" }, /--etcd-prefix must be a path/],
  [{ "etcd-servers": "https://a:1", "etcd-certfile": "x" }, /must be given together/],
  [{ "etcd-servers": "https://a:1", "etcd-cafile": "/nonexistent/ca" }, /--etcd-cafile: cannot use \/nonexistent\/ca/],
  [{ "etcd-servers": "https://a:1", "etcd-cafile": import.meta.filename }, /--etcd-cafile: cannot use/],
  [{ "etcd-keyfile": "x" }, /--etcd-keyfile needs --etcd-servers/],
];
for (const [values, why] of bad) {
  test(`flags for etcd are refused: ${why.source}`, async () => {
    await assert.rejects(etcdSettings(values), (error: Error) => error.name === "UserError" && why.test(error.message));
  });
}
