import assert from "node:assert/strict";
import { chmod, mkdtempDisposable, writeFile } from "node:fs/promises";
import { createServer as createHttp1, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  createServer as createHttp2,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
} from "node:http2";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isNotFound, StatusError } from "#api/status.ts";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Widget } from "#testing/widget.ts";
import { currentTrace } from "#trace/trace.ts";
import { type ClientConfig } from "../client-config.ts";
import { type HttpDeps, httpClient } from "./http.ts";

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

for (const version of ["HTTP/2", "HTTP/1.1"] as const) {
  test(`over ${version}, calls carry bodies both ways and errors unchanged`, async () => {
    await using setup = await start(version, (request, response) => {
      let body = "";
      request.on("data", (chunk) => (body += String(chunk)));
      request.on("end", () => {
        if (request.url?.endsWith("/none")) {
          return reply(response, 404, { kind: "Status", reason: "NotFound", message: "no such widget", code: 404 });
        }
        if (request.method === "GET") {
          return reply(response, 200, { metadata: { resourceVersion: "9" }, items: [{ metadata: { name: "a" } }] });
        }
        reply(response, 201, {
          ...(JSON.parse(body) as object),
          path: request.url,
          type: request.headers["content-type"],
        });
      });
    });

    const created = await setup.client.create(Widget, { metadata: { namespace: "default", name: "é" } });
    const { items, metadata } = await setup.client.list(Widget);

    assert.deepEqual(created, {
      metadata: { namespace: "default", name: "é" },
      kind: "Widget",
      apiVersion: "example.com/v1",
      path: "/apis/example.com/v1/namespaces/default/widgets",
      type: "application/json",
    });
    assert.deepEqual(items, [{ metadata: { name: "a" }, kind: "Widget", apiVersion: "example.com/v1" }]);
    assert.equal(metadata.resourceVersion, "9");
    await assert.rejects(setup.client.get(Widget, { namespace: "default", name: "none" }), isNotFound);
  });

  test(`over ${version}, a watch yields events as they arrive and ends with its signal`, async () => {
    await using setup = await start(version, (_request, response) => {
      const line = (name: string) => `${JSON.stringify({ type: "ADDED", object: { metadata: { name } } })}\n`;
      response.writeHead(200, { "content-type": "application/json" });
      const text = Buffer.from(line("a") + line("ü"));
      response.write(text.subarray(0, text.length - 6));
      setImmediate(() => response.write(text.subarray(text.length - 6)));
    });
    const stop = new AbortController();
    const names: (string | undefined)[] = [];

    for await (const event of setup.client.watch(Widget, { signal: stop.signal })) {
      if (event.type !== "BOOKMARK") names.push(event.object.metadata.name);
      if (names.length === 2) stop.abort();
    }

    assert.deepEqual(names, ["a", "ü"]);
  });

  test(`over ${version}, a signal ends a call that gets no answer`, async () => {
    const stop = new AbortController();
    await using setup = await start(version, () => stop.abort(new Error("enough")));

    await assert.rejects(setup.client.list(Widget, { signal: stop.signal }), /enough/);
  });

  test(`over ${version}, a read is repeated after its connection breaks, a write is not`, async () => {
    let reads = 0;
    let writes = 0;
    await using setup = await start(version, (request, response) => {
      const fails = request.method === "GET" ? ++reads === 1 : ++writes > 0;
      if (fails) request.socket.destroy();
      else reply(response, 200, { items: [], metadata: {} });
    });

    await setup.client.list(Widget);
    await assert.rejects(
      setup.client.create(Widget, { metadata: { namespace: "default", name: "a" } }),
      (error: StatusError) => error.reason === "ServiceUnavailable",
    );

    assert.deepEqual([reads, writes], [2, 1]);
  });
}

test("429 with Retry-After is waited out, on the clock", async () => {
  const clock = createVirtualClock();
  let calls = 0;
  let done = false;
  await using setup = await start(
    "HTTP/2",
    (_request, response) => {
      if (++calls > 2) return reply(response, 200, { items: [], metadata: {} });
      response.setHeader("retry-after", "3600");
      reply(response, 429, {});
    },
    { clock },
    { timeoutMs: Number.MAX_SAFE_INTEGER },
  );

  const listed = setup.client.list(Widget).finally(() => {
    done = true;
  });
  while (!done) await clock.advance(1000);
  await listed;

  assert.equal(calls, 3);
});

test("a request without an answer times out as Timeout", async () => {
  const clock = createVirtualClock();
  const asked = Promise.withResolvers<void>();
  await using setup = await start("HTTP/2", () => asked.resolve(), { clock });
  const listed = setup.client.list(Widget);
  listed.catch(() => undefined);
  await asked.promise;

  await clock.advance(70_000);

  await assert.rejects(listed, (error: StatusError) => error.reason === "Timeout");
});

test("after GOAWAY new calls go over a new connection", async () => {
  const sessions = new Set<Http2Session>();
  await using setup = await start("HTTP/2", (request, response) => {
    const { session } = (request as unknown as Http2ServerRequest).stream;
    assert(session);
    sessions.add(session);
    reply(response, 200, { items: [], metadata: {} });
  });

  for (let round = 0; round < 3; round++) {
    await setup.client.list(Widget);
    for (const session of sessions) if (!session.closed) session.close();
  }

  assert.equal(sessions.size, 3);
});

test("calls carry trace, token and impersonation, and report warnings", async () => {
  const warnings: string[] = [];
  let headers: IncomingMessage["headers"] = {};
  await using setup = await start(
    "HTTP/2",
    (request, response) => {
      ({ headers } = request);
      response.setHeader("warning", '299 - "old \\"thing\\"", 299 - "more"');
      reply(response, 200, { items: [], metadata: {} });
    },
    { onWarning: (text) => warnings.push(text) },
    { auth: { token: "t0ken" }, impersonate: { user: "eve", groups: ["a", "b"], extra: { "x/y": ["1"] } } },
  );

  await currentTrace.run({ traceId: "a".repeat(32), spanId: "b".repeat(16) }, () => setup.client.list(Widget));

  assert.equal(headers.traceparent, `00-${"a".repeat(32)}-${"b".repeat(16)}-01`);
  assert.equal(headers.authorization, "Bearer t0ken");
  assert.equal(headers["impersonate-user"], "eve");
  assert.equal(headers["impersonate-group"], "a, b");
  assert.equal(headers["impersonate-extra-x%2fy"], "1");
  assert.deepEqual(warnings, ['old "thing"', "more"]);
});

test("a credential program is asked once, and again when the server refuses its token", async () => {
  await using dir = await mkdtempDisposable(join(tmpdir(), "exec-"));
  const command = join(dir.path, "login");
  const apiVersion = "client.authentication.k8s.io/v1";
  const credential = `{"apiVersion":"${apiVersion}","kind":"ExecCredential","status":{"token":"'$(wc -l < ${dir.path}/runs)'"}}`;
  await writeFile(command, `#!/bin/sh\necho run >> ${dir.path}/runs\necho '${credential}'\n`);
  await chmod(command, 0o755);
  const tokens: (string | undefined)[] = [];
  await using setup = await start(
    "HTTP/2",
    (request, response) => {
      tokens.push(request.headers.authorization);
      const good = request.headers.authorization === "Bearer 2";
      reply(response, good ? 200 : 401, { items: [], metadata: {} });
    },
    { env: { PATH: "/bin:/usr/bin" } },
    { auth: { exec: { apiVersion, command, args: [], env: {} } } },
  );

  await setup.client.list(Widget);
  await setup.client.list(Widget);

  assert.deepEqual(tokens, ["Bearer 1", "Bearer 2", "Bearer 2"]);
});

test("a response that is not a Status becomes the error of its code", async () => {
  await using setup = await start("HTTP/1.1", (_request, response) => {
    response.writeHead(403);
    response.end("go away");
  });

  await assert.rejects(setup.client.list(Widget), { reason: "Forbidden", code: 403, message: "go away" });
});

test("a server that does not exist is ServiceUnavailable immediately", async () => {
  const client = httpClient({ server: "http://127.0.0.1:1" }, { clock: systemClock, log: silentLog });

  await assert.rejects(client.list(Widget), (error: StatusError) => error.reason === "ServiceUnavailable");
});

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function start(version: string, serve: Serve, deps: Partial<HttpDeps> = {}, config: Partial<ClientConfig> = {}) {
  const sessions = new Set<Http2Session>();
  const server = version === "HTTP/2" ? createHttp2(compatible(serve)) : createHttp1(serve);
  server.on("session", (session: Http2Session) => sessions.add(session));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const client = httpClient(
    { server: url, http2PriorKnowledge: version === "HTTP/2", ...config },
    { clock: systemClock, log: silentLog, ...deps },
  );
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      for (const session of sessions) session.destroy();
      if (version !== "HTTP/2") (server as Server).closeAllConnections();
      server.close();
    },
  };
}

/** HTTP/2's requests and responses behave like HTTP/1.1's, but their types do not show it. */
const compatible = (serve: Serve) => (request: Http2ServerRequest, response: Http2ServerResponse) =>
  serve(request as unknown as IncomingMessage, response as unknown as ServerResponse);
