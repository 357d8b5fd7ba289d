import assert from "node:assert/strict";
import { test } from "node:test";
import { Health, renderCheck, renderHealth } from "./health.ts";

const healthWith = () => {
  const health = new Health();
  const done = health.step("rbac/bootstrap-roles");
  health.add({ name: "etcd", check: async () => undefined });
  health.addReady({ name: "informer-sync", check: () => undefined });
  const render = (endpoint: "livez" | "readyz", options: Partial<Parameters<typeof renderHealth>[2]> = {}) =>
    renderHealth(endpoint, health.checksOf(endpoint), { verbose: false, exclude: [], ...options });
  return { health, done, render };
};

test("a step of the start fails until it is done, and nobody is told why", async () => {
  const { health, done, render } = healthWith();
  assert.deepEqual(await render("livez"), {
    status: 500,
    text: "[+]ping ok\n[+]log ok\n[-]poststarthook/rbac/bootstrap-roles failed: reason withheld\n[+]etcd ok\nlivez check failed\n",
  });
  const [, , step] = health.checksOf("livez");
  assert(step);
  assert.deepEqual(await renderCheck(step), { status: 500, text: "internal server error: not finished\n" });
  done();
  assert.deepEqual(await render("livez"), { status: 200, text: "ok" });
  assert.deepEqual(await renderCheck(step), { status: 200, text: "ok" });
});

test("readyz has more checks than livez, and fails when the server ends", async () => {
  const { health, done, render } = healthWith();
  done();
  const lines = "[+]ping ok\n[+]log ok\n[+]poststarthook/rbac/bootstrap-roles ok\n[+]etcd ok\n";
  assert.equal((await render("livez", { verbose: true })).text, `${lines}livez check passed\n`);
  const ready = `${lines}[+]informer-sync ok\n[+]shutdown ok\nreadyz check passed\n`;
  assert.equal((await render("readyz", { verbose: true })).text, ready);
  health.end();
  assert.equal((await render("readyz")).status, 500);
  assert.equal((await render("livez")).status, 200);
});

test("checks can be left out, and a name that is none of theirs is reported", async () => {
  const { render } = healthWith();
  const exclude = ["poststarthook/rbac/bootstrap-roles", "zzz", "aaa"];
  assert.deepEqual(await render("livez", { exclude }), { status: 200, text: "ok" });
  assert.equal(
    (await render("livez", { exclude, verbose: true })).text,
    '[+]ping ok\n[+]log ok\n[+]poststarthook/rbac/bootstrap-roles excluded: ok\n[+]etcd ok\nwarn: some health checks cannot be excluded: no matches for "aaa","zzz"\nlivez check passed\n',
  );
});

test("a check that throws has failed", async () => {
  const check = { name: "etcd", check: () => Promise.reject(new Error("no quorum")) };
  assert.equal((await renderHealth("livez", [check], { verbose: false, exclude: [] })).status, 500);
  assert.equal((await renderCheck(check)).text, "internal server error: no quorum\n");
});
