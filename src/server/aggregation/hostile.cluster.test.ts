import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type IncomingMessage, type ServerResponse } from "node:http";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { APIService } from "#api/apiregistration/api-service.ts";
import { startControlPlane } from "#cluster/control-plane.ts";
import { systemClock } from "#lib/async/clock.ts";
import { systemRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { flood as sendForever } from "#testing/peers/flood.ts";
import {
  apiService,
  flunders,
  group,
  otherBundle,
  podIp,
  register,
  startExtension,
  untilReason,
} from "./aggregation.suite.ts";

const administrator = { name: "admin", groups: ["system:masters", "system:authenticated"] };

async function startFront() {
  const dir = await mkdtemp(join(tmpdir(), "aggregation-"));
  const base = { clock: systemClock, log: silentLog, random: systemRandom, store: "memory", port: 0 } as const;
  const plane = await startControlPlane({ ...base, host: "127.0.0.1", dataDir: dir });
  const { admin, authority } = plane.certificates.pki;
  const open = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    request({
      ...{ host: "127.0.0.1", port: plane.port, path, method, headers, agent: false },
      ...{ ca: authority.certificate, cert: admin.certificate, key: admin.key },
    });
  /** The response, with as much of its body as arrived. */
  const ask = async (path: string, headers?: Record<string, string>) => {
    const outgoing = open(path, headers).end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    let body = "";
    let isWhole = true;
    try {
      for await (const chunk of response) {
        body += String(chunk);
        if (body.length > 1 << 20) break;
      }
    } catch {
      isWhole = false;
    }
    return { status: response.statusCode ?? 0, headers: response.headers, body, isWhole };
  };
  return {
    client: plane.clientFor(administrator),
    open,
    ask,
    async [Symbol.asyncDispose]() {
      await plane[Symbol.asyncDispose]();
      await rm(dir, { recursive: true });
    },
  };
}

let sent = 0;
const flood = (response: ServerResponse): void =>
  sendForever(response, (bytes) => {
    sent += bytes;
  });

/** What an extension server may do, and what its caller gets. */
const cases: Record<
  string,
  { serve(response: ServerResponse): void; status: number; says?: RegExp; timeout?: string; isCut?: boolean }
> = {
  hangs: {
    serve: () => undefined,
    timeout: "1s",
    status: 504,
    says: /request did not complete within the allotted timeout/,
  },
  // Longer, because what it says must arrive before that.
  drips: { serve: (response) => void response.write("{"), timeout: "5s", status: 200, says: /^\{$/, isCut: true },
  breaks: { serve: (response) => response.destroy(), status: 503, says: /EOF/ },
  stops: {
    serve: (response) => {
      response.writeHead(200, { "content-length": "100" }).write("half", () => response.destroy());
    },
    status: 200,
    says: /^half$/,
    isCut: true,
  },
  floods: { serve: flood, status: 200 },
  redirects: {
    serve: (response) => response.writeHead(307, { location: "https://127.0.0.1:1/" }).end(),
    status: 502,
    says: /the backend attempted to redirect this request, which is not permitted/,
  },
  announces: {
    serve: (response) => {
      for (let n = 0; n < 1000; n++) response.writeProcessing();
      response.end("{}");
    },
    status: 503,
    says: /interim responses/,
  },
  boasts: {
    serve: (response) => {
      for (let n = 0; n < 100; n++) response.setHeader(`x-${n}`, "y".repeat(1000));
      response.end("{}");
    },
    status: 503,
    says: /Header overflow/,
  },
};

test("an extension server that misbehaves fails its own requests only", { skip: podIp === "" }, async () => {
  await using extension = await startExtension(({ url = "" }, response) => {
    const name = /flunders\/([a-z]+)/.exec(url)?.[1] ?? "";
    cases[name]?.serve(response);
  });
  await using front = await startFront();
  await register(front.client, extension.port);
  await untilReason(front.client, "Passed");

  for (const [name, { status, says, timeout, isCut = false }] of Object.entries(cases)) {
    const answer = await front.ask(`${flunders}/${name}${timeout ? `?timeout=${timeout}` : ""}`);
    assert.equal(answer.status, status, name);
    if (says) assert.match(answer.body, says, name);
    assert.equal(answer.isWhole, !isCut, name);
  }
  assert.equal((await front.ask("/api/v1/namespaces")).status, 200);
  assert(sent < 200 * 1024 * 1024, `${sent} bytes were sent`);
});

const paths = [
  `${flunders}/../secrets`,
  `${flunders}/%2e%2e/secrets`,
  `${flunders}/a%2Fstatus`,
  `${flunders}//a`,
  `${flunders}/a%00b`,
  `/apis/${group}/v1//namespaces/default/flunders`,
];

test("only what was authorized is passed on, and nobody says who they are", { skip: podIp === "" }, async () => {
  const seen: IncomingMessage[] = [];
  await using extension = await startExtension((incoming, response) => {
    seen.push(incoming);
    const own = { "audit-id": "theirs", "x-kubernetes-pf-flowschema-uid": "theirs", "alt-svc": 'h3=":443"' };
    response.writeHead(200, { ...own, connection: "x-hop", "x-hop": "1", "x-end": "2" }).end("{}");
  });
  await using front = await startFront();
  await register(front.client, extension.port);
  await untilReason(front.client, "Passed");

  for (const path of paths) {
    const { status } = await front.ask(path);
    assert(status === 400 || status === 404, `${path}: ${status}`);
  }
  assert.equal(seen.length, 0);
  const forged = {
    authorization: "Bearer secret",
    "x-remote-user": "system:admin",
    "x-remote-extra-scopes": "all",
    "X-REMOTE-GROUP": "system:masters",
    connection: "x-remote-group, x-own",
    "x-own": "1",
    "x-passed": "2",
  };
  const answer = await front.ask(flunders, forged);

  assert.equal(answer.status, 200);
  const [{ headers } = { headers: {} as IncomingMessage["headers"] }] = seen;
  assert.equal(headers["x-remote-user"], "kubernetes-admin");
  assert.equal(headers["x-remote-group"], "system:masters, system:authenticated");
  for (const name of ["authorization", "x-remote-extra-scopes", "x-own"]) assert.equal(headers[name], undefined, name);
  assert.equal(headers["x-passed"], "2");
  assert.equal(answer.headers["x-end"], "2");
  for (const name of ["x-hop", "alt-svc"]) assert.equal(answer.headers[name], undefined, name);
  assert.notEqual(answer.headers["audit-id"], "theirs");
  assert.notEqual(answer.headers["x-kubernetes-pf-flowschema-uid"], "theirs");
});

test("a body is passed on as it arrives, and as it was sent", { skip: podIp === "" }, async () => {
  const arrived = Promise.withResolvers<IncomingMessage>();
  await using extension = await startExtension((incoming, response) => {
    arrived.resolve(incoming);
    incoming.once("end", () => response.end("{}"));
  });
  await using front = await startFront();
  await register(front.client, extension.port);
  await untilReason(front.client, "Passed");

  const outgoing = front.open(flunders, { "content-encoding": "gzip" }, "POST");
  outgoing.write("first");
  const incoming = await arrived.promise;
  const [first] = await once(incoming, "data");
  incoming.on("data", (chunk) => assert.equal(String(chunk), "last"));
  outgoing.end("last");
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  response.resume();

  assert.equal(String(first), "first");
  assert.equal(incoming.headers["content-encoding"], "gzip");
  assert.equal(response.statusCode, 200);
});

test("a body that the extension server does not read waits with the client", { skip: podIp === "" }, async () => {
  const arrived = Promise.withResolvers<IncomingMessage>();
  await using extension = await startExtension((incoming) => arrived.resolve(incoming));
  await using front = await startFront();
  await register(front.client, extension.port);
  await untilReason(front.client, "Passed");
  const size = 256 << 20;
  const outgoing = front.open(`${flunders}?timeout=2s`, { "content-length": String(size) }, "POST");
  const chunk = Buffer.alloc(64 << 10);
  let written = 0;
  const write = (): void => {
    while (written < size) {
      written += chunk.length;
      if (!outgoing.write(chunk)) return void outgoing.once("drain", write);
    }
  };
  outgoing.on("error", () => undefined);
  write();

  await arrived.promise;
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  outgoing.destroy();

  assert.equal(response.statusCode, 504);
  assert(written < size / 4, `${written} bytes were taken`);
});

test("an upgrade goes through, as the caller, and hides no second request", { skip: podIp === "" }, async () => {
  let requests = 0;
  await using extension = await startExtension((_request, response) => {
    requests++;
    response.end("{}");
  });
  extension.server.on("upgrade", (incoming: IncomingMessage, socket) => {
    const refuses = incoming.url?.includes("refused");
    if (refuses) return void socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n`);
    socket.write(`${incoming.headers["x-remote-user"]}:`);
    socket.pipe(socket);
  });
  await using front = await startFront();
  await register(front.client, extension.port);
  await untilReason(front.client, "Passed");
  const echo = { connection: "Upgrade", upgrade: "echo", "x-remote-user": "somebody" };

  const outgoing = front.open(`${flunders}/a/connect`, echo).end();
  const [, socket, head] = await once(outgoing, "upgrade");
  socket.write("GET /smuggled HTTP/1.1\r\n\r\n");
  let text = String(head);
  while (!text.includes("\r\n\r\n")) text += String((await once(socket, "data"))[0]);
  socket.destroy();
  const refused = await front.ask(`${flunders}/refused/connect`, echo);
  const withBody = front.open(`${flunders}/a/connect`, { ...echo, "content-length": "30" }, "POST");
  withBody.end("GET /smuggled HTTP/1.1\r\n\r\n1234");
  const [{ statusCode }] = await once(withBody, "response");

  assert.equal(text, "kubernetes-admin:GET /smuggled HTTP/1.1\r\n\r\n");
  assert.deepEqual([refused.status, refused.body], [403, "no"]);
  assert.equal(statusCode, 400);
  assert.equal(requests, 0);
});

test("a server without the right certificate is not available, and its group says so", {
  skip: podIp === "",
}, async () => {
  await using extension = await startExtension((_request, response) => response.end("{}"));
  await using front = await startFront();
  await register(front.client, extension.port, { caBundle: otherBundle });
  const message = await untilReason(front.client, "FailedDiscoveryCheck");
  const refused = await front.ask(flunders);
  await front.client.delete(APIService, { name: `v1.${group}` });
  const gone = await front.ask(flunders);
  const rubbish = apiService({ caBundle: Buffer.from("rubbish").toString("base64") });
  await front.client.create(APIService, rubbish);
  await untilReason(front.client, "FailedDiscoveryCheck");
  await front.client.delete(APIService, { name: `v1.${group}` });
  const insecure = apiService({ insecureSkipTLSVerify: true });
  await front.client.create(APIService, insecure);
  await untilReason(front.client, "Passed");

  assert.match(message, /^failing or missing response from https:.*\/v1: Get ".*x509: certificate signed by unknown/);
  assert.deepEqual([refused.status, refused.body], [503, "service unavailable\n"]);
  assert.equal(gone.status, 404);
  assert.equal((await front.ask(flunders)).status, 200);
});

test("nobody hands over the group by which groups are handed over", { skip: podIp === "" }, async () => {
  await using extension = await startExtension((_request, response) => response.end("{}"));
  await using front = await startFront();
  await register(front.client, extension.port, { group: "apiregistration.k8s.io" });

  const { body } = await front.ask("/apis/apiregistration.k8s.io/v1/apiservices");

  assert.match(body, /"kind":"APIServiceList"/);
});
