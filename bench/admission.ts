/**
 * Measures what webhooks and policies cost a create: none configured, beside a server whose plugins for them are off, and some
 * configured. `npm run bench -- admission [--objects N]`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { tempDir } from "./boot.ts";
import { Connections, json } from "./lib/connections.ts";
import { inFlight } from "./lib/in-flight.ts";
import { fillCompileCache, type ServerProcess, startServer } from "./lib/server-process.ts";
import { usageOf } from "./lib/usage.ts";

const plugins = [
  "MutatingAdmissionPolicy",
  "MutatingAdmissionWebhook",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionWebhook",
];
const group = "/apis/admissionregistration.k8s.io/v1";
const rounds = 8;

export async function runAdmission(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { objects: { type: "string", default: "500" } } });
  const count = Number(values.objects);
  await fillCompileCache();
  using onDir = tempDir();
  using offDir = tempDir();
  await using on = await startServer(onDir.path, ["--store", "memory"]);
  await using off = await startServer(offDir.path, [
    "--store",
    "memory",
    "--disable-admission-plugins",
    plugins.join(","),
  ]);
  process.stdout.write(
    `a ConfigMap, ms of CPU, least of ${rounds - 1} rounds, beside a server without their plugins\n`,
  );
  const measure = async (name: string): Promise<void> => print(name, await alternately(count, on, off));
  await measure("no webhooks and policies");
  await configure(on, "secrets");
  await measure("a policy about other kinds");
  await configure(on, "configmaps");
  await measure("a policy about ConfigMaps");
}

function print(name: string, [ms, without]: readonly [number, number]): void {
  process.stdout.write(
    `${ms.toFixed(3).padStart(10)} ${without.toFixed(3).padStart(6)}  ${(ms / without).toFixed(2)} times  ${name}\n`,
  );
}

/** The least CPU time of a create on each server. The rounds alternate, because the machine may be busy. */
async function alternately(
  count: number,
  ...servers: readonly [ServerProcess, ServerProcess]
): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    for (const [index, server] of servers.entries()) times[index]?.push(await creates(server, count));
  }
  // In the first round, the code is still being compiled.
  const least = (list: readonly number[]): number => Math.min(...list.slice(1));
  return [least(times[0]), least(times[1])];
}

let names = 0;

async function creates(server: ServerProcess, count: number): Promise<number> {
  using connections = new Connections(server, 4);
  const data = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`key${index}`, "value ".repeat(5)]));
  const before = usageOf(server.pid).cpuMs;
  await inFlight({ count, width: 16 }, () => {
    const body = json({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: `map-${names++}` }, data });
    return connections.call({ method: "POST", path: "/api/v1/namespaces/default/configmaps", body });
  });
  return (usageOf(server.pid).cpuMs - before) / count;
}

/** A policy about a kind, which holds. Waits until it is in effect. */
async function configure(server: ServerProcess, resource: string): Promise<void> {
  using connections = new Connections(server, 1);
  const metadata = { name: resource };
  const apiVersion = "admissionregistration.k8s.io/v1";
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: [resource] };
  const policy = {
    failurePolicy: "Fail",
    matchConstraints: { resourceRules: [rule] },
    validations: [{ expression: "object.metadata.name != 'forbidden'" }],
  };
  const create = (path: string, kind: string, spec: object) =>
    connections.call({ method: "POST", path: `${group}/${path}`, body: json({ apiVersion, kind, metadata, spec }) });
  await create("validatingadmissionpolicies", "ValidatingAdmissionPolicy", policy);
  const binding = { policyName: resource, validationActions: ["Deny"] };
  await create("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", binding);
  const path = `/api/v1/namespaces/default/${resource}?dryRun=All`;
  const kind = resource === "secrets" ? "Secret" : "ConfigMap";
  const body = json({ apiVersion: "v1", kind, metadata: { name: "forbidden" } });
  const isRefused = () =>
    connections.call({ method: "POST", path, body }).then(
      () => false,
      () => true,
    );
  while (!(await isRefused())) await sleep(50);
}
