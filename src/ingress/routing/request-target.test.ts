import assert from "node:assert/strict";
import { test } from "node:test";
import { readHost, readTarget } from "./request-target.ts";

const paths: readonly (readonly [url: string, path: string | undefined, search?: string])[] = [
  ["/", "/"],
  ["/a/b?x=1?2", "/a/b", "?x=1?2"],
  ["/a/./b/../c", "/a/c"],
  ["/a/..", "/"],
  ["/../../etc", "/etc"],
  ["/a/.", "/a/"],
  ["/a/%2e%2e/b", "/b"],
  ["/%61dmin", "/admin"],
  ["/a%2fb", "/a%2Fb"],
  ["//a", "//a"],
  ["/a%", undefined],
  ["/a%zz", undefined],
  ["/a%00b", undefined],
  ["/a\\b", undefined],
  ["/a#b", undefined],
  ["/a b", undefined],
  ["/ä", undefined],
  ["a", undefined],
  ["", undefined],
  [`/${"a/".repeat(600)}`, undefined],
];
for (const [url, path, search = ""] of paths) {
  test(`the path of ${JSON.stringify(url.slice(0, 30))} is ${path}`, () => {
    const target = readTarget({ url, authority: "a.example" });
    assert.deepEqual(target, path === undefined ? undefined : { host: "a.example", path, search });
  });
}

const hosts: readonly (readonly [authority: string, host: string | undefined])[] = [
  ["A.Example:8080", "a.example"],
  ["a.example.", "a.example"],
  ["[::1]:80", "[::1]"],
  ["", ""],
  ["a.example:99999", undefined],
  ["a.example:80:80", undefined],
  ["user@a.example", undefined],
  ["a.example/b", undefined],
  ["a..example", undefined],
  [".example", undefined],
  ["[::1", undefined],
  ["a".repeat(300), undefined],
];
for (const [authority, host] of hosts) {
  test(`the host of ${JSON.stringify(authority.slice(0, 30))} is ${host}`, () =>
    assert.equal(readHost(authority), host));
}

test("an absolute address must name the same host as the header", () => {
  assert.equal(readTarget({ url: "http://a.example/x", authority: "a.example" })?.path, "/x");
  assert.equal(readTarget({ url: "http://a.example?x", authority: "a.example" })?.search, "?x");
  assert.equal(readTarget({ url: "http://b.example/x", authority: "a.example" }), undefined);
});
