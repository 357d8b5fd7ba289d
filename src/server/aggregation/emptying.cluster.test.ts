import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { systemClock } from "#lib/async/clock.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { group, podIp, register, type Serve, startExtension } from "./aggregation.suite.ts";

const item = (finalizer: string) => ({
  metadata: { name: "x", namespace: "stuck", finalizers: [finalizer] },
});
const list = (items: unknown) => ({ kind: "FlunderList", metadata: { resourceVersion: "1" }, items });

/** What another server answers when it is asked what is left in a namespace, and what the namespace then says. */
const cases: { name: string; status?: number; answer(at: number): unknown; says: RegExp }[] = [
  {
    name: "finalizers that are large and change",
    answer: (at) => list([item(`${at}${"x".repeat(60_000)}`)]),
    says: /others in 1 resource instances/,
  },
  { name: "finalizers that change", answer: (at) => list([item(`f${at}`)]), says: /f\d+ in 1 resource instances/ },
  {
    name: "errors that are long and change",
    status: 500,
    answer: (at) => ({ kind: "Status", message: `${at}${"x".repeat(1 << 20)}` }),
    says: /remaining: \d+x/,
  },
  { name: "null as item", answer: () => list([null]), says: /sent a malformed Flunder: it has no metadata/ },
  { name: "a text as items", answer: () => list("abc"), says: /sent a malformed Flunder: its list is not one/ },
];

for (const { name, status = 200, answer, says } of cases) {
  test(`a deleted namespace is not written all the time because of ${name}`, { skip: podIp === "" }, async () => {
    let asked = 0;
    const serve: Serve = ({ method, url = "" }, response) => {
      response.setHeader("content-type", "application/json");
      if (url.includes("watch=true")) return void response.writeHead(400).end("{}");
      if (method === "DELETE") return void response.end("{}");
      asked++;
      response.writeHead(status).end(JSON.stringify(answer(asked)));
    };
    await using extension = await startExtension(serve);
    await using cluster = await startCluster({ clock: "system" });
    const { client, api } = cluster;
    await client.create(Namespace, { metadata: { name: "stuck" } });
    await register(client, extension.port);
    while (!api.remote.all().some((resource) => resource.group === group)) await systemClock.sleep(20);
    let writes = 0;
    let bytes = 0;
    cluster.informers.of(Namespace).subscribe(({ object }) => {
      if (object.metadata.name !== "stuck") return;
      writes++;
      bytes = Math.max(bytes, JSON.stringify(object.status).length);
    });

    await client.delete(Namespace, { name: "stuck" });
    await systemClock.sleep(1500);

    const { status: shown } = await client.get(Namespace, { name: "stuck" });
    assert.match(shown.conditions?.map(({ message }) => message).join("\n") ?? "", says);
    assert(writes < 25, `${writes} writes`);
    assert(bytes < 5 * 32_768, `${bytes} bytes`);
  });
}
