import assert from "node:assert/strict";
import { test } from "node:test";
import { parseGoUrl } from "./go-url.ts";

const parts = { scheme: "https", host: "", user: undefined, query: "", fragment: "" };

const urls: readonly [text: string, expected: object][] = [
  ["HTTPS://Example.com:8443/a%20b", { ...parts, host: "Example.com:8443" }],
  ["https://[::1]:443/", { ...parts, host: "[::1]:443" }],
  ["https://u:p@host/x?a=b&c#top%21", { ...parts, host: "host", user: "u:p", query: "a=b&c", fragment: "top!" }],
  ["https://", parts],
  ["https:opaque", parts],
  ["//host/path", { ...parts, scheme: "", host: "host" }],
  ["///path", { ...parts, scheme: "" }],
  ["host.example.com/path", { ...parts, scheme: "" }],
  ["", { ...parts, scheme: "" }],
];
for (const [text, expected] of urls) {
  test(`parseGoUrl() splits ${JSON.stringify(text)} as Go does`, () => assert.deepEqual(parseGoUrl(text), expected));
}

const faults: readonly [text: string, fault: string][] = [
  [":443", 'parse ":443": missing protocol scheme'],
  ["https://a b/", 'parse "https://a b/": invalid character " " in host name'],
  ["https://a:b/", 'parse "https://a:b/": invalid port ":b" after host'],
  ["https://[::1/", "parse \"https://[::1/\": missing ']' in host"],
  ["https://a%41/", 'parse "https://a%41/": invalid URL escape "%41"'],
  ["https://a/%zz", 'parse "https://a/%zz": invalid URL escape "%zz"'],
  ["https://a/%", 'parse "https://a/%": invalid URL escape "%"'],
  ["https://a b@c/", 'parse "https://a b@c/": net/url: invalid userinfo'],
  ["cache_object:foo/bar", 'parse "cache_object:foo/bar": first path segment in URL cannot contain colon'],
  ["https://a/\n", 'parse "https://a/\\n": net/url: invalid control character in URL'],
];
for (const [text, fault] of faults) {
  test(`parseGoUrl() refuses ${JSON.stringify(text)} in Go's words`, () =>
    assert.deepEqual(parseGoUrl(text), { fault }));
}
