import assert from "node:assert/strict";
import { test } from "node:test";
import { inRange, parseAddress, parsePort, parseProtocol, parseRanges, ruleName } from "./parse-values.ts";

test("parseRanges() normalises and sorts ranges, and drops those within another", () => {
  const texts = ["10.1.0.0/16", " 10.0.0.9/8 ", "192.0.2.7/32", "fd00:1::1/32", "fd00::/8", "10.0.0.0/33", "all", "/8"];

  assert.deepEqual(parseRanges(texts, "IPv4"), ["10.0.0.0/8", "192.0.2.7/32"]);
  assert.deepEqual(parseRanges(texts, "IPv6"), ["fd00::/8"]);
});

test("parseAddress() accepts only addresses of one family", () => {
  assert.equal(parseAddress("08.8.8.8", "IPv4"), "8.8.8.8");
  assert.equal(parseAddress("::ffff:10.1.2.3", "IPv4"), "10.1.2.3");
  assert.equal(parseAddress("FD00:0::1", "IPv6"), "fd00::1");
  for (const text of ["10.0.0.1 }", "fe80::1%eth0", "10.0.0.1/8", "", "1".repeat(100), undefined]) {
    assert.equal(parseAddress(text, "IPv4"), undefined);
    assert.equal(parseAddress(text, "IPv6"), undefined);
  }
});

test("parsePort() and parseProtocol() accept only what a packet can carry", () => {
  for (const value of [0, -1, 65_536, 1.5, Number.NaN, undefined]) assert.equal(parsePort(value), undefined);
  assert.equal(parsePort(65_535), 65_535);
  assert.deepEqual(["", undefined, "UDP", "udp", "constructor"].map(parseProtocol), [
    "tcp",
    "tcp",
    "udp",
    undefined,
    undefined,
  ]);
});

test("ruleName() hashes long and unusual names, and is unique per object", () => {
  assert.equal(ruleName("default", "web"), "default/web");
  const hashed = [ruleName("a", "x".repeat(253)), ruleName("a", "a b"), ruleName("a", ""), ruleName("a/b", "c")];
  for (const name of hashed) assert.match(name, /^_[0-9a-f]{32}$/);
  assert.equal(new Set(hashed).size, hashed.length);
});

test("inRange() supports both families", () => {
  assert(inRange("10.96.0.10", "10.96.0.0/16"));
  assert(!inRange("10.97.0.10", "10.96.0.0/16"));
  assert(inRange("fd00:2::5", "fd00:2::/112"));
  assert(!inRange("fd00:2::5", "10.96.0.0/16"));
});
