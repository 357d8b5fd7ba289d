import assert from "node:assert/strict";
import { once } from "node:events";
import { type ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { MutatingWebhookConfiguration } from "#api/admissionregistration/mutating-webhook-configuration.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { isStatus } from "#api/status.ts";
import { flood as sendForever } from "#testing/peers/flood.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { hookAt, mutating, otherBundle, patchOf, type Review, startWebhooks } from "./webhooks.suite.ts";

let sent = 0;

const flood = (response: ServerResponse): void =>
  sendForever(response, (bytes) => {
    sent += bytes;
  });

const v1 = (response: object) =>
  JSON.stringify({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response });

/** What a webhook may do, and what its caller is told. */
const cases: Record<string, { serve(response: ServerResponse, review: Review): void; says: RegExp; bundle?: string }> =
  {
    hangs: {
      serve: () => undefined,
      says: /failed to call webhook: Post "https:.*\?timeout=1s": context deadline exceeded$/,
    },
    stops: { serve: (response) => void response.write("{"), says: /context deadline exceeded$/ },
    breaks: { serve: (response) => response.destroy(), says: /failed to call webhook: Post .*: EOF$/ },
    floods: { serve: flood, says: /the answer is larger than 4194304 bytes$/ },
    babbles: {
      serve: (response) => response.end("<html>"),
      says: /failed to call webhook: couldn't get version\/kind/,
    },
    nests: {
      serve: (response) => response.end("[".repeat(1_000_000)),
      says: /failed to call webhook: couldn't get version\/kind.*more than 20000 values$/,
    },
    redirects: {
      serve: (response) => response.writeHead(302, { location: "https://127.0.0.1:1/" }).end(),
      says: /status code 302/,
    },
    fails: { serve: (response) => response.writeHead(500).end("oops"), says: /an error on the server \("oops"\)/ },
    impostor: {
      serve: (response) => response.end("{}"),
      says: /x509: certificate signed by unknown authority$/,
      bundle: otherBundle,
    },
    lies: {
      serve: (response) => response.end(v1({ uid: "x", allowed: true })),
      says: /expected response.uid=.*got "x"$/,
    },
    empties: { serve: (response) => response.end("{}"), says: /webhook response was absent$/ },
    pollutes: {
      serve: (response, { request: { uid } }) => response.end(v1({ uid, allowed: "yes" })),
      says: /cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool$/,
    },
    misspells: {
      serve: (response, { request: { uid } }) =>
        response.end(v1({ uid, allowed: true, patchType: "JSONPatch", patch: "e30=" })),
      says: /undecodable patch/,
    },
  };

test("a webhook that fails is handled by its failure policy, and the message names it", async () => {
  await using webhooks = await startWebhooks((review, path, { response }) => {
    cases[path.slice(1, path.indexOf("?"))]?.serve(response, review);
    return undefined;
  });
  await using cluster = await startCluster({ controllers: false, clock: "system" });
  for (const [name, { bundle }] of Object.entries(cases)) {
    for (const failurePolicy of ["Fail", "Ignore"] as const) {
      // The others answer, however busy the machine is.
      const timeoutSeconds = name === "hangs" || name === "stops" ? 1 : 30;
      const part = { failurePolicy, timeoutSeconds, objectSelector: { matchLabels: { case: name, failurePolicy } } };
      const hook = hookAt(webhooks.url(name), part);
      const clientConfig = { ...hook.clientConfig, ...(bundle ? { caBundle: bundle } : {}) };
      const configuration = mutating(`${name}-${failurePolicy.toLowerCase()}`, { ...hook, clientConfig });
      await cluster.client.create(MutatingWebhookConfiguration, configuration);
    }
  }
  const create = (name: string, failurePolicy: string) =>
    cluster.client.create(ConfigMap, {
      metadata: {
        name: `${name}-${failurePolicy.toLowerCase()}`,
        namespace: "default",
        labels: { case: name, failurePolicy },
      },
    });

  await Promise.all(
    Object.entries(cases).map(async ([name, { says }]) => {
      await assert.rejects(create(name, "Fail"), (error: Error) => {
        assert(isStatus(error, "InternalError"), name);
        assert.match(error.message, /^Internal error occurred: failed calling webhook "guard.example.com": /);
        assert.match(error.message, says);
        return true;
      });
      assert.equal((await create(name, "Ignore")).metadata.labels?.case, name);
    }),
  );
  assert(sent < 200 * 1024 * 1024, `${sent} bytes were sent`);
});

/** What a server that does not speak TLS may do with a connection, and what the caller is told. */
const sockets: Record<string, { connected(socket: Socket): void; says: RegExp }> = {
  dead: { connected: () => undefined, says: /: dial tcp 127\.0\.0\.1:\d+: connect: connection refused$/ },
  silent: { connected: () => undefined, says: /\?timeout=1s": context deadline exceeded$/ },
  plain: {
    connected: (socket) => void socket.write("HTTP/1.1 200 OK\r\n\r\n{}"),
    says: /: tls: first record does not look like a TLS handshake$/,
  },
  closes: { connected: (socket) => void socket.end(), says: /failed to call webhook: Post .*: EOF$/ },
};

test("a webhook that does not speak TLS is handled by its failure policy, and the message names it", async () => {
  await using cluster = await startCluster({ controllers: false, clock: "system" });
  await using stack = new AsyncDisposableStack();
  for (const [name, { connected }] of Object.entries(sockets)) {
    const server = createServer((socket) => connected(socket.on("error", () => undefined).resume()));
    stack.defer(() => void server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    if (name === "dead") await once(server.close(), "close");
    for (const failurePolicy of ["Fail", "Ignore"] as const) {
      const part = {
        failurePolicy,
        timeoutSeconds: name === "silent" ? 1 : 30,
        objectSelector: { matchLabels: { case: name, failurePolicy } },
      };
      const configuration = mutating(
        `${name}-${failurePolicy.toLowerCase()}`,
        hookAt(`https://127.0.0.1:${port}/`, part),
      );
      await cluster.client.create(MutatingWebhookConfiguration, configuration);
    }
  }

  await Promise.all(
    Object.entries(sockets).map(async ([name, { says }]) => {
      const create = (failurePolicy: string) =>
        cluster.client.create(ConfigMap, {
          metadata: { generateName: name, namespace: "default", labels: { case: name, failurePolicy } },
        });
      await assert.rejects(create("Fail"), (error: Error) => {
        assert.match(error.message, /^Internal error occurred: failed calling webhook "guard.example.com": /);
        assert.match(error.message, says);
        return true;
      });
      assert.equal((await create("Ignore")).metadata.labels?.case, name);
    }),
  );
});

const patches = {
  moves: {
    operation: { op: "replace", path: "/metadata/namespace", value: "kube-system" },
    says: /namespace of the provided/,
  },
  unmakes: { operation: { op: "remove", path: "/metadata" }, says: /must be a ConfigMap with metadata/ },
  turns: { operation: { op: "replace", path: "/kind", value: "Secret" }, says: /must be a ConfigMap/ },
  misses: { operation: { op: "remove", path: "/none" }, says: /Unable to remove nonexistent key/ },
  forges: { operation: { op: "add", path: "/metadata/uid", value: "mine" }, says: undefined },
};

test("a webhook changes neither where an object is, nor what it is, nor what only the server sets", async () => {
  await using webhooks = await startWebhooks((review) => {
    const { operation } = patches[review.request.name as keyof typeof patches];
    return patchOf(operation);
  });
  await using cluster = await startCluster({ controllers: false, clock: "system" });
  await cluster.client.create(MutatingWebhookConfiguration, mutating("patch", hookAt(webhooks.url(""))));

  for (const [name, { says }] of Object.entries(patches)) {
    const creating = cluster.client.create(ConfigMap, { metadata: { name, namespace: "default" } });
    if (says) await assert.rejects(creating, { message: says });
    else assert.notEqual((await creating).metadata.uid, "mine");
  }
});
