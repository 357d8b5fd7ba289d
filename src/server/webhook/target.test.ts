import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, type Called, WebhookConnections } from "./target.ts";

const webhook = (clientConfig: Called["clientConfig"]): Called => ({ clientConfig });
const resolve = async () => ({ host: "10.0.0.1", port: 8443 });

const urls = [
  ["https://hook.example.com", { host: "hook.example.com", port: 443, serverName: "hook.example.com", path: "/" }],
  ["https://192.0.2.1:8443/a/b", { host: "192.0.2.1", port: 8443, serverName: undefined, path: "/a/b" }],
  ["https://[2001:db8::1]:8443/", { host: "2001:db8::1", port: 8443, serverName: undefined, path: "/" }],
] as const;
for (const [url, expected] of urls) {
  test(`addressOf() reads ${url}`, async () => {
    const { authority, ...address } = await addressOf(webhook({ url }), resolve, 0);

    assert.deepEqual(address, expected);
    assert.equal(authority, new URL(url).host);
  });
}

test("addressOf() keeps the path of a service on its own server, whatever the path says", async () => {
  const at = (path?: string) =>
    addressOf(
      webhook({ service: { namespace: "ns", name: "hook", port: 443, ...(path ? { path } : {}) } }),
      resolve,
      0,
    );
  const fixed = { host: "10.0.0.1", port: 8443, serverName: "hook.ns.svc", authority: "hook.ns.svc:443" };

  assert.deepEqual(await at(), { ...fixed, path: "/" });
  assert.deepEqual(await at("/review"), { ...fixed, path: "/review" });
  assert.deepEqual(await at("//evil.example.com/x"), { ...fixed, path: "//evil.example.com/x" });
  assert.deepEqual(await at("/a?b#c\r\nd"), { ...fixed, path: "/a" });
});

test("a webhook has a limited number of calls at the same time, and further ones fail at once", async () => {
  const connections = new WebhookConnections();
  const hook = webhook({ url: "https://192.0.2.1" });
  const address = await addressOf(hook, resolve, 0);
  const { promise, resolve: answer } = Promise.withResolvers<string>();
  const running = Array.from({ length: 200 }, () => connections.of(hook).use(address, () => promise));

  await assert.rejects(
    connections.of(hook).use(address, () => promise),
    { message: /200 calls are already waiting/ },
  );
  answer("done");

  assert.equal((await Promise.all(running)).length, 200);
  assert.equal(await connections.of(hook).use(address, async () => "again"), "again");
  connections.retire(hook);
});
