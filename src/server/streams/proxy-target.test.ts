import assert from "node:assert/strict";
import { test } from "node:test";
import { isGlobalUnicast, parseProxyName, portNumber } from "./proxy-target.ts";

const good = [
  { text: "web", parts: { scheme: "http", name: "web", port: "" } },
  { text: "web:", parts: { scheme: "http", name: "web", port: "" } },
  { text: "web:8080", parts: { scheme: "http", name: "web", port: 8080 } },
  { text: "web:http", parts: { scheme: "http", name: "web", port: "http" } },
  { text: "https:web:", parts: { scheme: "https", name: "web", port: "" } },
  { text: "http:web:web-ui", parts: { scheme: "http", name: "web", port: "web-ui" } },
];
for (const { text, parts } of good) {
  test(`parseProxyName() reads ${text}`, () => assert.deepEqual(parseProxyName("pod", text), parts));
}

const badPorts = [
  "0",
  "65536",
  "99999999999",
  "+80",
  "-1",
  " 80",
  "80 ",
  "x@127.0.0.1",
  "80@evil",
  "8/..",
  "80#",
  "80?",
  "[::1]",
  "A",
  "a.b",
  "-",
  "a".repeat(64),
  "80\r\nx",
];
const badNames = ["ftp:web:1", "HTTP:web:1", "a:b:c:d", ":1", "", "::", "http::80"];
for (const text of [
  ...badNames,
  ...badPorts.map((port) => `web:${port}`),
  ...badPorts.map((port) => `http:web:${port}`),
]) {
  test(`parseProxyName() refuses ${JSON.stringify(text)}`, () => {
    const message = `invalid pod request ${JSON.stringify(text)}`;
    assert.throws(() => parseProxyName("pod", text), { message, code: 400 });
  });
}

test("portNumber() knows only the ports of protocols", () => {
  assert.deepEqual([portNumber(8080), portNumber("http"), portNumber("https")], [8080, 80, 443]);
  assert.throws(() => portNumber("web"), { message: /lookup tcp\/web: unknown port/, code: 503 });
});

for (const address of ["10.0.0.1", "8.8.8.8", "fd00::1", "2001:db8::1", "::ffff:10.0.0.1"]) {
  test(`isGlobalUnicast() accepts ${address}`, () => assert(isGlobalUnicast(address)));
}
const notGlobal = [
  "127.0.0.1",
  "127.9.9.9",
  "0.0.0.0",
  "169.254.169.254",
  "224.0.0.1",
  "255.255.255.255",
  "::1",
  "0:0:0:0:0:0:0:1",
  "::",
  "fe80::1",
  "fe80::1%eth0",
  "fd00::1%lo",
  "ff02::1",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "::ffff:169.254.169.254",
  "x",
  "localhost",
  "",
];
for (const address of notGlobal) {
  test(`isGlobalUnicast() refuses ${JSON.stringify(address)}`, () => assert(!isGlobalUnicast(address)));
}
