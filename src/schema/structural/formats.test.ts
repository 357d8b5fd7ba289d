import assert from "node:assert/strict";
import { test } from "node:test";
import { formatOf, isKnownFormat } from "./formats.ts";

const cases: Readonly<Record<string, { readonly good: readonly string[]; readonly bad: readonly string[] }>> = {
  "date-time": { good: ["2024-02-29T10:00:00Z", "2024-01-02t03:04:05.678+02:00"], bad: ["2023-02-29T10:00:00Z", "x"] },
  date: { good: ["2024-12-31"], bad: ["2024-13-01", "2024-1-1"] },
  duration: { good: ["1h30m", "22 ns", "3 weeks"], bad: ["soon", ""] },
  ipv4: { good: ["10.0.0.1", "010.0.0.1"], bad: ["10.0.0", "::1"] },
  ipv6: { good: ["::1", "fe80::1"], bad: ["10.0.0.1"] },
  cidr: { good: ["10.0.0.0/8", "fd00::/64"], bad: ["10.0.0.0/33", "10.0.0.0"] },
  mac: { good: ["00:00:5e:00:53:01", "0000.5e00.5301"], bad: ["00:00:5e"] },
  uuid: { good: ["123E4567-e89b-12d3-a456-426614174000"], bad: ["123e4567"] },
  email: { good: ["a@b.example", "Jane <jane@b.example>"], bad: ["a", "a@", "@b", "a b@c"] },
  hostname: { good: ["a", "a-b.example"], bad: ["-a", "a..b", "a.1"] },
  uri: { good: ["https://a.example/b", "/path"], bad: ["a b", "path"] },
  byte: { good: ["YQ==", "YWJj"], bad: ["YQ", "?"] },
  hexcolor: { good: ["#fff", "00ff00"], bad: ["#ff"] },
  rgbcolor: { good: ["rgb(0,10,255)"], bad: ["rgb(0,10,256)"] },
  isbn: { good: ["0321751043", "978-0321751041"], bad: ["0321751044"] },
  creditcard: { good: ["4111 1111 1111 1111"], bad: ["4111 1111 1111 1112"] },
  ssn: { good: ["111-22-3333"], bad: ["111"] },
  "k8s-short-name": { good: ["my-name"], bad: ["My-name", "a.b", "a".repeat(64)] },
  "k8s-long-name": { good: ["a.b-c"], bad: ["a..b"] },
  password: { good: ["anything", ""], bad: [] },
};
for (const [format, { good, bad }] of Object.entries(cases)) {
  test(`formatOf() tells what is a ${format}`, () => {
    const check = formatOf({ type: "string", format });

    assert.deepEqual(
      [good.map((text) => check?.(text)), bad.map((text) => check?.(text))],
      [good.map(() => true), bad.map(() => false)],
    );
    assert.equal(isKnownFormat({ type: "string", format }), true);
  });
}

test("formatOf() reads long texts in time that grows with their length", () => {
  const texts = ["a".repeat(8000), `${"a.".repeat(4000)}`, "0:".repeat(4000), `${"<".repeat(8000)}@`];
  const digits = `${"1".repeat(4000)}${" ".repeat(4000)}`;

  for (const format of Object.keys(cases)) for (const text of texts) formatOf({ type: "string", format })?.(text);
  // Minutes, if each digit were tried as the first one.
  for (let n = 0; n < 1000; n++) formatOf({ type: "string", format: "duration" })?.(digits);
  assert.equal(formatOf({ type: "string", format: "email" })?.("a".repeat(100_000)), false);
});
