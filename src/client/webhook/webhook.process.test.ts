import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { type IncomingMessage, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type TLSSocket } from "node:tls";
import { systemClock } from "#lib/async/clock.ts";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";
import { KubeconfigError } from "../kubeconfig/kubeconfig-file.ts";
import { openWebhook, readWebhookConfig, type WebhookDeps } from "./webhook.ts";

const validity = { notBeforeMs: systemClock.now() - 60_000, notAfterMs: systemClock.now() + 3_600_000 };
const authority = createAuthority({ subject: { commonName: "webhooks" }, ...validity });
const other = createAuthority({ subject: { commonName: "somebody else" }, ...validity });
const serving = createCertificate(authority, {
  subject: { commonName: "webhook" },
  use: "server",
  hosts: ["127.0.0.1"],
  ...validity,
});
const caller = createCertificate(authority, { subject: { commonName: "orlop" }, use: "client", ...validity });
const base64 = (text: string): string => Buffer.from(text).toString("base64");

type Serve = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** A webhook's server, and a function that writes a kubeconfig for it and opens it. */
async function start(serve: Serve) {
  const dir = await mkdtempDisposable(join(tmpdir(), "webhook-"));
  const options = { key: serving.key, cert: serving.certificate, ca: authority.certificate, requestCert: true };
  const server = createServer({ ...options, rejectUnauthorized: false }, (request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => serve(request, response, body));
  });
  let connections = 0;
  server.on("secureConnection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const opened: Disposable[] = [];
  return {
    connections: () => connections,
    async open(user: object, deps: Partial<WebhookDeps> = {}, ca = authority.certificate) {
      const file = join(dir.path, "webhook.json");
      const cluster = {
        server: `https://127.0.0.1:${port}/review?timeout=3s`,
        "certificate-authority-data": base64(ca),
      };
      await writeFile(file, JSON.stringify(kubeconfigOf(cluster, user)));
      const webhook = await openWebhook(file, { clock: systemClock, ...deps });
      opened.push(webhook);
      return webhook;
    },
    async [Symbol.asyncDispose]() {
      for (const webhook of opened) webhook[Symbol.dispose]();
      server.closeAllConnections();
      server.close();
      await dir.remove();
    },
  };
}

const kubeconfigOf = (cluster: object, user: object) => ({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "reviewer", cluster }],
  users: [{ name: "server", user }],
  contexts: [{ name: "reviews", context: { cluster: "reviewer", user: "server" } }],
  "current-context": "reviews",
});

const post = async (webhook: Awaited<ReturnType<typeof openWebhook>>, text: string): Promise<string> =>
  Buffer.from(await webhook.post(Buffer.from(text))).toString();

test("a webhook posts to its URL with its certificate or token, over one connection", async () => {
  await using server = await start((request, response, body) => {
    const { CN } = (request.socket as TLSSocket).getPeerCertificate().subject ?? {};
    response.end(JSON.stringify([request.method, request.url, request.headers.authorization, CN, body]));
  });
  const certified = await server.open({
    "client-certificate-data": base64(caller.certificate),
    "client-key-data": base64(caller.key),
  });

  const answers = [await post(certified, "1"), await post(certified, "2")];
  const bearing = await post(await server.open({ token: "secret" }), "3");

  assert.deepEqual(
    answers.map((answer) => JSON.parse(answer) as unknown),
    [
      ["POST", "/review?timeout=3s", null, "orlop", "1"],
      ["POST", "/review?timeout=3s", null, "orlop", "2"],
    ],
  );
  assert.deepEqual(JSON.parse(bearing), ["POST", "/review?timeout=3s", "Bearer secret", null, "3"]);
  // One connection finds out whether the server speaks HTTP/2.
  assert.ok(server.connections() <= 4, `${server.connections()} connections`);
});

test("a webhook is sent nothing if its certificate is from another authority", async () => {
  let asked = 0;
  await using server = await start((_request, response) => {
    asked++;
    response.end("{}");
  });

  await assert.rejects(post(await server.open({}, {}, other.certificate), "{}"), { name: "WebhookError" });

  assert.equal(asked, 0);
});

test("a webhook cannot send more than the limit, keep us waiting, or announce its answer for ever", async () => {
  await using server = await start((_request, response, body) => {
    if (body === "large") response.end("x".repeat(70_000));
    if (body === "slow") response.write("{");
    if (body === "interim") for (let count = 0; count < 50; count++) response.writeEarlyHints({ link: "<x>; rel=y" });
  });
  const webhook = await server.open({}, { maxBytes: 65_536, timeoutMs: 60_000 });
  const impatient = await server.open({}, { maxBytes: 65_536, timeoutMs: 300 });

  await assert.rejects(post(webhook, "large"), { message: /larger than 65536 bytes$/ });
  await assert.rejects(post(impatient, "slow"), { message: /no complete answer within 300 ms$/ });
  await assert.rejects(post(webhook, "interim"), { message: /more than 5 interim responses$/ });
});

test("a webhook is asked again after errors that may pass, and its query is in no message", async () => {
  const statuses = [500, 429, 200, 403];
  await using server = await start((_request, response) => {
    response.statusCode = statuses.shift() ?? 200;
    response.end("done");
  });
  const webhook = await server.open({}, { retry: { attempts: 3, baseMs: 1, maxMs: 1 } });

  assert.equal(await post(webhook, "{}"), "done");
  await assert.rejects(post(webhook, "{}"), { status: 403, message: /\/review: answered with status 403$/ });
});

test("readWebhookConfig() names the file and the field of a mistake", async () => {
  await using dir = await mkdtempDisposable(join(tmpdir(), "webhook-"));
  const file = join(dir.path, "kubeconfig");
  const faultOf = async (text: string): Promise<string> => {
    await writeFile(file, text);
    const error: unknown = await readWebhookConfig(file).then(String, (fault: unknown) => fault);
    assert(error instanceof KubeconfigError);
    return error.message.replaceAll(file, "FILE");
  };
  const config = kubeconfigOf({ server: "https://a" }, {});

  assert.match(
    await faultOf(JSON.stringify({ ...config, "current-context": "x" })),
    /^FILE: context "x" does not exist/,
  );
  assert.match(await faultOf(JSON.stringify({ ...config, clusters: [] })), /^FILE: cluster "reviewer" of context/);
  assert.match(
    await faultOf(JSON.stringify(kubeconfigOf({ server: "a" }, {}))),
    /^FILE: clusters\[0\].cluster.server must/,
  );
  assert.equal(await faultOf(""), "FILE: clusters: Required value: names no server");
  const flagged = openWebhook(file, { clock: systemClock, flag: "hook-file" });
  await assert.rejects(flagged, {
    name: "KubeconfigError",
    message: `--hook-file: ${file}: clusters: Required value: names no server`,
  });
  assert.match(await faultOf("{"), /^FILE: is neither YAML nor JSON/);
  await assert.rejects(readWebhookConfig(join(dir.path, "none")), { message: /none: cannot be read: ENOENT$/ });
});
