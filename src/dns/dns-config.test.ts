import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDnsConfig } from "./dns-config.ts";

test("parseDnsConfig() reads stub domains and upstream servers as kube-dns documents them", () => {
  const { faults, ...config } = parseDnsConfig({
    stubDomains: '{"Acme.local": ["1.2.3.4"], "corp.": ["10.0.0.1:5353", "fd00::1"]}',
    upstreamNameservers: '["8.8.8.8", "8.8.4.4"]',
  });
  assert.deepEqual(faults, []);
  assert.deepEqual(config, {
    stubDomains: { "acme.local": ["1.2.3.4"], corp: ["10.0.0.1:5353", "fd00::1"] },
    upstreams: ["8.8.8.8", "8.8.4.4"],
  });
});

test("parseDnsConfig() without keys means the machine's own servers", () => {
  assert.deepEqual(parseDnsConfig({}), { stubDomains: {}, upstreams: undefined, faults: [] });
});

for (const [what, data, fault] of [
  ["no JSON", { stubDomains: "{" }, /stubDomains is not JSON/],
  ["a list of domains", { stubDomains: '["a"]' }, /not a map/],
  ["a server that is a name", { stubDomains: '{"a.b": ["ns.example"]}' }, /"a\.b" is not a domain with servers/],
  ["a domain that is none", { stubDomains: '{"a..b": ["1.2.3.4"]}' }, /"a\.\.b" is not/],
  ["a port out of range", { upstreamNameservers: '["1.2.3.4:99999"]' }, /has no address/],
  ["too much", { stubDomains: `{"a": ["${"1".repeat(70_000)}"]}` }, /longer than/],
] as const) {
  test(`parseDnsConfig() leaves out ${what}, and says so`, () => {
    const { stubDomains, upstreams, faults } = parseDnsConfig(data);
    assert.deepEqual([stubDomains, upstreams], [{}, undefined]);
    assert.match(faults.join("; "), fault);
  });
}

test("parseDnsConfig() takes at most three servers and a hundred domains", () => {
  const many = Object.fromEntries(
    Array.from({ length: 500 }, (_, i) => [`d${i}`, ["1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"]]),
  );
  const { stubDomains } = parseDnsConfig({ stubDomains: JSON.stringify(many) });
  assert.equal(Object.keys(stubDomains).length, 100);
  assert.equal(stubDomains.d0?.length, 3);
});
