import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "#lib/async/turns.ts";
import { type HttpHost, type TlsRoute, TlsTable } from "./tls-table.ts";

const route = (host: string, name = host, rank = "1"): TlsRoute => ({
  ...{ owner: `TLSRoute a/${name}`, host, rank, isTerminated: false, backends: [] },
});
const scope = (host: string, ...hosts: readonly string[]) => ({ host, routes: hosts.map((one) => route(one)) });
const http = (host: string, wildcard: HttpHost["wildcard"] = "any labels"): HttpHost => ({ host, wildcard });

/** Where names go, as `name → owner`. */
const cases: readonly {
  readonly name: string;
  readonly scopes: readonly ReturnType<typeof scope>[];
  readonly http?: readonly HttpHost[];
  readonly leads: Readonly<Record<string, string>>;
}[] = [
  {
    name: "an exact host comes before the longest wildcard",
    scopes: [scope("", "*.example", "*.b.example", "a.b.example")],
    leads: {
      "a.b.example": "a.b.example",
      "c.b.example": "*.b.example",
      "d.c.b.example": "*.b.example",
      "x.example": "*.example",
      example: "refuse",
    },
  },
  {
    name: "the most specific listener decides, also without a route",
    scopes: [scope("*.example", "*.example"), scope("a.example")],
    leads: { "a.example": "refuse", "b.example": "*.example", "b.other": "http" },
  },
  {
    name: "a more specific host for HTTP wins",
    scopes: [scope("*.example", "*.example", "web.example")],
    http: [http("web.example"), http("*.deep.example"), http("*.one.example", "one label")],
    leads: {
      "web.example": "http",
      "x.y.deep.example": "http",
      "x.one.example": "http",
      "x.y.one.example": "*.example",
      "db.example": "*.example",
    },
  },
  {
    name: "a less specific host for HTTP gets nothing that a listener for TLS has",
    scopes: [scope("*.db.example", "a.db.example")],
    http: [http("*.example"), http("")],
    leads: { "a.db.example": "a.db.example", "b.db.example": "refuse", "web.example": "http", "web.other": "http" },
  },
  {
    name: "of equal hosts, a route for TLS goes first and HTTP gets the rest",
    scopes: [scope("", "db.example")],
    http: [http("")],
    leads: { "db.example": "db.example", "web.example": "http" },
  },
];
for (const { name, scopes, http: hosts = [], leads } of cases) {
  test(name, () => {
    const table = atOnce(TlsTable.build(scopes, hosts));
    for (const [asked, expected] of Object.entries(leads)) {
      const found = table?.find(asked);
      assert.equal(typeof found === "object" ? found.host : found, expected, asked);
    }
    assert.equal(table?.find(undefined), "http");
  });
}

test("of several routes for a host, the oldest has it, whatever listener it is attached to", () => {
  const scopes = [
    { host: "", routes: [route("db.example", "young", "2")] },
    { host: "", routes: [route("db.example", "old", "1")] },
  ];
  const found = atOnce(TlsTable.build(scopes, []))?.find("db.example");

  assert(typeof found === "object");
  assert.equal(found.owner, "TLSRoute a/old");
});

test("without a listener for TLS there is no table, and so nobody reads names", () => {
  assert.equal(atOnce(TlsTable.build([], [http("web.example")])), undefined);
});
