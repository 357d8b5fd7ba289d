import assert from "node:assert/strict";
import { test } from "node:test";
import { originUrl } from "./origin-url.ts";

const good = [
  { host: "10.0.0.1", href: "http://10.0.0.1:8080/" },
  { host: "fd00::1", href: "http://[fd00::1]:8080/" },
  { host: "node-1.example.com", href: "http://node-1.example.com:8080/" },
];
for (const { host, href } of good) {
  test(`originUrl() takes ${host}`, () => assert.equal(originUrl({ scheme: "http", host, port: 8080 }).href, href));
}

const bad = [
  "",
  "a@b",
  "a:1",
  "a/b",
  "a\\b",
  "a?b",
  "a#b",
  "a b",
  "0x7f.1",
  "2130706433",
  "127.1",
  "fe80::1%eth0",
  "[::1]",
];
for (const host of bad) {
  test(`originUrl() refuses the host ${JSON.stringify(host)}`, () =>
    assert.throws(() => originUrl({ scheme: "http", host, port: 80 }), /is not a host/));
}

for (const port of [0, -1, 65_536, 1.5, Number.NaN]) {
  test(`originUrl() refuses the port ${port}`, () =>
    assert.throws(() => originUrl({ scheme: "http", host: "a", port }), /is not a port/));
}
