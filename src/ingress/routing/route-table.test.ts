import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "#lib/async/turns.ts";
import { type Condition, type PathMatch, type Route } from "./route.ts";
import { type RoutedRequest, RouteTable, type Scope } from "./route-table.ts";
import { compilePattern } from "./text-pattern.ts";

interface Written {
  readonly host?: string;
  readonly method?: string;
  readonly headers?: readonly Condition[];
  readonly query?: readonly Condition[];
  readonly rank?: string;
}

/** `/a` is a prefix, `=/a` is exact. Its owner is its text. */
function route(path: string, written: Written = {}): Route {
  const match: PathMatch = path.startsWith("=")
    ? { type: "exact", value: path.slice(1) }
    : { type: "prefix", value: path };
  return {
    ...{ host: "", headers: [], query: [], rank: "1", ...written },
    owner: [written.host ?? "", path, written.rank ?? ""].filter(Boolean).join(" "),
    path: match,
    action: { type: "refuse", status: 404, message: "" },
  };
}

const scope = (host: string, routes: readonly Route[], wildcard: Scope["wildcard"] = "one label"): Scope => ({
  host,
  wildcard,
  routes: routes.map((one) => ({ ...one, host: one.host || host })),
});

const asked = (text: string, headers: Readonly<Record<string, string>> = {}): RoutedRequest => {
  const [method = "", host = "", url = "/"] = text.split(" ");
  const [path = "", search] = url.split("?");
  return { method, host, path, search: search === undefined ? "" : `?${search}`, header: (name) => headers[name] };
};

const found = (
  scopes: readonly Scope[],
  request: RoutedRequest,
  fallbacks: readonly Route[] = [],
): string | undefined => atOnce(RouteTable.build({ scopes, fallbacks })).match(request)?.owner;

const paths = [route("/foo"), route("=/foo"), route("/foo/bar"), route("/"), route("=/end/")];
const byPath: readonly (readonly [path: string, owner: string])[] = [
  ["/foo", "=/foo"],
  ["/foo/", "/foo"],
  ["/foo/x", "/foo"],
  ["/foobar", "/"],
  ["/foo/bar", "/foo/bar"],
  ["/foo/bar/", "/foo/bar"],
  ["/foo/barbaz", "/foo"],
  ["/foo/bar/baz/x", "/foo/bar"],
  ["/end/", "=/end/"],
  ["/end", "/"],
  ["/FOO", "/"],
  ["/", "/"],
];
for (const [path, owner] of byPath) {
  test(`the path ${path} finds ${owner}`, () => assert.equal(found([scope("", paths)], asked(`GET a ${path}`)), owner));
}

test("a host without a matching path has no route", () => {
  assert.equal(found([scope("a.example", [route("/x")])], asked("GET a.example /y")), undefined);
});

const hosts = ["shop.example", "*.example", "*.shop.example", ""].map((host) =>
  scope(host, [{ ...route("/"), owner: host || "every" }]),
);
const byHost: readonly (readonly [host: string, owner: string])[] = [
  ["shop.example", "shop.example"],
  ["a.example", "*.example"],
  ["a.shop.example", "*.shop.example"],
  ["a.b.example", "every"],
  ["example", "every"],
  ["", "every"],
  ["shop.example.evil", "every"],
];
for (const [host, owner] of byHost) {
  test(`the host ${JSON.stringify(host)} finds ${owner}`, () =>
    assert.equal(found(hosts, asked(`GET ${host} /`)), owner));
}

test("a star of a Gateway stands for any number of labels", () => {
  const scopes = [scope("*.example", [{ ...route("/"), owner: "many" }], "any labels")];

  assert.equal(found(scopes, asked("GET a.b.example /")), "many");
  assert.equal(found(scopes, asked("GET example /")), undefined);
});

test("the most specific scope hides all others", () => {
  const scopes = [scope("*.example", [route("/x")], "any labels"), scope("", [route("/y")], "any labels")];

  assert.equal(found(scopes, asked("GET a.example /y")), undefined);
});

test("routes of one listener with several hosts are tried from the most specific", () => {
  const routes = [route("/", { host: "*.example" }), route("/a", { host: "a.example" })];
  const scopes = [scope("*.example", routes, "any labels")];

  assert.equal(found(scopes, asked("GET a.example /a")), "a.example /a");
  assert.equal(found(scopes, asked("GET a.example /b")), "*.example /");
});

test("a method, then headers, then queries, then age decide between equal paths", () => {
  const header = { name: "x", value: "1" };
  const routes = [
    route("/", { rank: "a" }),
    route("/", { rank: "b", query: [{ name: "q", value: "1" }] }),
    route("/", { rank: "c", headers: [header] }),
    route("/", { rank: "d", headers: [header, { name: "y", value: "2" }] }),
    route("/", { rank: "e", method: "POST" }),
    route("/", { rank: "f" }),
  ];
  const scopes = [scope("", routes)];

  assert.equal(found(scopes, asked("GET h /")), "/ a");
  assert.equal(found(scopes, asked("GET h /?q=1&q=2")), "/ b");
  assert.equal(found(scopes, asked("GET h /?q=2&q=1")), "/ a");
  assert.equal(found(scopes, asked("GET h /?q=1", { x: "1" })), "/ c");
  assert.equal(found(scopes, asked("GET h /", { x: "1", y: "2" })), "/ d");
  assert.equal(found(scopes, asked("POST h /", { x: "1", y: "2" })), "/ e");
});

test("what no scope has goes to the oldest fallback", () => {
  const fallbacks = [route("/", { rank: "2" }), route("/", { rank: "1" })];

  assert.equal(found([scope("a.example", [route("/x")])], asked("GET b.example /"), fallbacks), "/ 1");
  assert.equal(found([scope("a.example", [route("/x")])], asked("GET a.example /y"), fallbacks), "/ 1");
});

test("a long path and ten thousand routes cost a few lookups", () => {
  const many = Array.from({ length: 10_000 }, (_, index) => route(`/p${index}`));
  const table = atOnce(RouteTable.build({ scopes: [scope("", many)], fallbacks: [] }));
  const request = asked(`GET h /p7777/${"a/".repeat(250)}`);

  for (let round = 0; round < 2_000; round++) assert.equal(table.match(request)?.owner, "/p7777");
});

test("the query of a request is read once, however many routes ask for its parameters", () => {
  let reads = 0;
  const request = {
    ...asked("GET x.example /"),
    get search() {
      reads++;
      return "?a=999&a=1";
    },
  };
  const routes = Array.from({ length: 1_000 }, (_, index) =>
    route("/", { rank: String(index).padStart(3, "0"), query: [{ name: "a", value: String(index) }] }),
  );

  assert.equal(found([scope("x.example", routes)], request), "/ 999");
  assert(reads < 5, `${reads} reads`);
});

test("patterns are tried after exact paths and before prefixes, and must match the whole path", () => {
  const pattern = compilePattern("/v[0-9]+/.*");
  assert(typeof pattern !== "string");
  const versions: Route = { ...route("/pattern"), path: { type: "pattern", value: pattern.source, pattern } };
  const scopes = [scope("a.example", [route("/v1"), route("=/v1/exact"), versions])];
  const owners = ["/v1/x", "/v1/exact", "/v1", "/v12/"].map((path) => found(scopes, asked(`GET a.example ${path}`)));
  assert.deepEqual(owners, ["/pattern", "=/v1/exact", "/v1", "/pattern"]);
});

test("headers and parameters match by patterns", () => {
  const pattern = compilePattern("gold|silver");
  assert(typeof pattern !== "string");
  const [headers, query] = [[{ name: "x-tier", value: "", pattern }], [{ name: "tier", value: "", pattern }]];
  const scopes = [scope("a.example", [route("/", { headers, rank: "h" }), route("/", { query, rank: "q" })])];
  const ask = (url: string, tier?: string) =>
    found(scopes, asked(`GET a.example ${url}`, tier ? { "x-tier": tier } : {}));
  assert.deepEqual(
    [ask("/", "gold"), ask("/?tier=silver"), ask("/", "goldish"), ask("/")],
    ["/ h", "/ q", undefined, undefined],
  );
});

test("a long path does not lead past a pattern to the route of the same namespace behind it", () => {
  const pattern = compilePattern("/admin/.*");
  assert(typeof pattern !== "string");
  const guarded: Route = {
    ...route("/x"),
    owner: "HTTPRoute shop/guard",
    path: { type: "pattern", value: pattern.source, pattern },
  };
  const open = (owner: string): Route => ({
    ...route("/"),
    owner,
    action: { type: "refuse", status: 299, message: "" },
  });
  const ask = (path: string, behind: string) => {
    const scopes = [scope("a.example", [guarded, open(behind)])];
    const { action } = atOnce(RouteTable.build({ scopes, fallbacks: [] })).match(asked(`GET a.example ${path}`)) ?? {};
    return action?.type === "refuse" ? action.status : undefined;
  };
  const long = "x".repeat(15_000);

  assert.equal(ask("/admin/a", "HTTPRoute shop/open"), 404);
  assert.equal(ask(`/admin/${long}`, "HTTPRoute shop/open"), 400);
  assert.equal(ask("/open", "HTTPRoute shop/open"), 299);
  assert.equal(ask(`/open/${long}`, "HTTPRoute other/open"), 299, "others are not held up");
});
