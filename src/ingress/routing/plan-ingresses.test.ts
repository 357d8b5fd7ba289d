import assert from "node:assert/strict";
import { test } from "node:test";
import { read } from "#api/faults.suite.ts";
import { Ingress } from "#api/networking/ingress.ts";
import { atOnce } from "#lib/async/turns.ts";
import { maxPaths, planIngress } from "./plan-ingress.ts";
import { type IngressesPlan, maxNamespacePaths, planIngresses } from "./plan-ingresses.ts";
import { RouteTable } from "./route-table.ts";

const service = (name: string) => ({ service: { name, port: { number: 80 } } });
const rule = (host: string, ...paths: readonly string[]) => ({
  host,
  http: {
    paths: paths.map((text) => {
      const [path = "", name = "web", pathType = "Prefix"] = text.split(" ");
      return { path, pathType, backend: service(name) };
    }),
  },
});

/** `ns/name`, and the older the lower the age. */
function ingress(key: string, age: number, spec: object): Ingress {
  const [namespace, name] = key.split("/");
  const creationTimestamp = `2026-01-01T00:00:${String(age).padStart(2, "0")}Z`;
  return read(Ingress, { metadata: { namespace, name, uid: key, creationTimestamp }, spec }) as Ingress;
}

const plan = (...all: readonly Ingress[]): IngressesPlan => atOnce(planIngresses(all.map(planIngress)));

function backendOf({ scopes, fallbacks }: IngressesPlan, host: string, path: string): string | undefined {
  const table = atOnce(RouteTable.build({ scopes, fallbacks }));
  const action = table.match({ host, path, search: "", method: "GET", header: () => undefined })?.action;
  return action?.type === "forward" ? (action.backends[0]?.key ?? action.backends[0]?.fault) : undefined;
}

test("rules lead to services of the namespace of their Ingress", () => {
  const planned = plan(
    ingress("a/one", 1, { rules: [rule("x.example", "/ web", "/api api Exact", "/img/ img ImplementationSpecific")] }),
  );

  assert.equal(backendOf(planned, "x.example", "/"), "a/web:80");
  assert.equal(backendOf(planned, "x.example", "/api"), "a/api:80");
  assert.equal(backendOf(planned, "x.example", "/api/"), "a/web:80");
  assert.equal(backendOf(planned, "x.example", "/img"), "a/img:80");
  assert.equal(backendOf(planned, "x.example", "/img/1"), "a/img:80");
  assert.equal(backendOf(planned, "y.example", "/"), undefined);
  assert.deepEqual([...planned.faults], []);
});

test("a default backend serves its own hosts first, and all others if it is the oldest", () => {
  const planned = plan(
    ingress("a/one", 2, { defaultBackend: service("one"), rules: [rule("x.example", "/only")] }),
    ingress("b/two", 1, { defaultBackend: service("two") }),
  );

  assert.equal(backendOf(planned, "x.example", "/only"), "a/web:80");
  assert.equal(backendOf(planned, "x.example", "/other"), "a/one:80");
  assert.equal(backendOf(planned, "y.example", "/"), "b/two:80");
});

test("a path of a newer Ingress goes before the default backend of an older one", () => {
  const planned = plan(
    ingress("a/old", 1, { defaultBackend: service("old"), rules: [rule("x.example", "/only")] }),
    ingress("a/new", 2, { rules: [rule("x.example", "/ new")] }),
  );

  assert.equal(backendOf(planned, "x.example", "/"), "a/new:80");
});

test("the oldest Ingress keeps a path that two want", () => {
  const planned = plan(
    ingress("a/new", 2, { rules: [rule("x.example", "/ new", "/new new")] }),
    ingress("a/old", 1, { rules: [rule("x.example", "/ old")] }),
  );

  assert.equal(backendOf(planned, "x.example", "/"), "a/old:80");
  assert.equal(backendOf(planned, "x.example", "/new"), "a/new:80");
  assert.deepEqual(planned.faults.get("a/new"), ["path x.example/ (prefix) is ignored: Ingress a/old has it"]);
});

test("a host belongs to the namespace of the oldest Ingress that names it", () => {
  const planned = plan(
    ingress("a/shop", 1, { rules: [rule("x.example", "/ web")], tls: [{ hosts: ["x.example"], secretName: "own" }] }),
    ingress("evil/login", 2, {
      rules: [rule("x.example", "/login steal"), rule("y.example", "/ fine")],
      tls: [{ hosts: ["x.example"], secretName: "forged" }],
    }),
  );

  assert.equal(backendOf(planned, "x.example", "/login"), "a/web:80");
  assert.equal(backendOf(planned, "y.example", "/"), "evil/fine:80");
  assert.deepEqual(
    planned.certificates.map(({ host, secret }) => `${host} ${secret}`),
    ["x.example a/own"],
  );
  assert.deepEqual(planned.faults.get("evil/login"), [
    "host x.example belongs to an older Ingress or Gateway of another namespace",
  ]);
});

test("a backend that is not a service says so", () => {
  const resource = { kind: "Bucket", name: "b", apiGroup: "acme.io" };
  const planned = plan(
    ingress("a/one", 1, {
      rules: [{ host: "x.example", http: { paths: [{ path: "/", pathType: "Prefix", backend: { resource } }] } }],
    }),
  );

  const fault = "a backend that is a Bucket is not supported: use a service";
  assert.equal(backendOf(planned, "x.example", "/"), fault);
  assert.deepEqual(planned.faults.get("a/one"), [`spec.rules[0].http.paths[0]: ${fault}`]);
});

test("an Ingress with too many paths disables itself only", () => {
  const many = Array.from({ length: maxPaths + 1 }, (_, index) => `/p${index} web`);
  const planned = plan(
    ingress("a/huge", 1, { rules: [rule("x.example", ...many)] }),
    ingress("a/fine", 2, { rules: [rule("x.example", "/ fine")] }),
  );

  assert.equal(backendOf(planned, "x.example", "/p1"), "a/fine:80");
  assert.match(planned.faults.get("a/huge")?.[0] ?? "", /^it has no effect: its rules have 1001 paths/);
});

test("a namespace with too many paths keeps its oldest, and takes nothing from others", () => {
  const many = (host: string) => rule(host, ...Array.from({ length: maxPaths }, (_, index) => `/p${index} web`));
  const hosts = Array.from({ length: 6 }, (_, index) =>
    ingress(`a/i${index}`, index, { rules: [many(`h${index}.example`)] }),
  );
  const planned = plan(...hosts, ingress("b/fine", 9, { rules: [rule("fine.example", "/ fine")] }));

  assert.equal(backendOf(planned, "h4.example", "/p0"), "a/web:80");
  assert.equal(backendOf(planned, "h5.example", "/p0"), undefined);
  assert.equal(backendOf(planned, "fine.example", "/"), "b/fine:80");
  assert.deepEqual([...planned.faults.keys()], ["a/i5"]);
});

test("a certificate without hosts is for the hosts of the rules, or for everybody", () => {
  const planned = plan(
    ingress("a/one", 1, { rules: [rule("x.example", "/")], tls: [{ secretName: "x" }] }),
    ingress("a/two", 2, { defaultBackend: service("web"), tls: [{ secretName: "every" }, { hosts: ["z.example"] }] }),
  );

  assert.deepEqual(
    planned.certificates.map(({ host, secret }) => `${host} ${secret}`),
    ["x.example a/x", " a/every"],
  );
  assert.deepEqual(planned.faults.get("a/two"), ["spec.tls[1]: it names no secret, so it has no certificate"]);
});

test("a host that another API gave to a namespace earlier stays there", () => {
  const late = ingress("evil/late", 2, { rules: [rule("x.example", "/")], tls: [{ secretName: "own" }] });
  const claimed = (age: number, namespace: string): IngressesPlan => {
    const rank = `2026-01-01T00:00:0${age}Z ${namespace}/gateway`;
    return atOnce(planIngresses([planIngress(late)], [{ host: "x.example", namespace, rank }]));
  };

  assert.equal(backendOf(claimed(1, "a"), "x.example", "/"), undefined);
  assert.deepEqual(claimed(1, "a").certificates, []);
  assert.equal(claimed(1, "a").owners.get("x.example"), "a");
  assert.equal(backendOf(claimed(1, "evil"), "x.example", "/"), "evil/web:80");
  assert.equal(backendOf(claimed(3, "a"), "x.example", "/"), "evil/web:80");
});

test("hosts with certificates count against the limit of a namespace too", () => {
  const hosts = (index: number) => Array.from({ length: 500 }, (_, at) => `h${at}.i${index}.example`);
  const flood = Array.from({ length: 12 }, (_, index) =>
    ingress(`evil/i${index}`, index, {
      defaultBackend: service("x"),
      tls: [{ secretName: "none", hosts: hosts(index) }],
    }),
  );
  const planned = plan(...flood, ingress("a/late", 59, { rules: [rule("x.example", "/")] }));

  assert.equal(planned.certificates.length, maxNamespacePaths);
  assert.match(planned.faults.get("evil/i11")?.[0] ?? "", /^it has no effect/);
  assert.equal(backendOf(planned, "x.example", "/"), "a/web:80");
});
