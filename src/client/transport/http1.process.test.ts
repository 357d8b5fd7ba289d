import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { neverAborted } from "#lib/async/tasks.ts";
import { plainTransport } from "./http1.ts";
import { WireError } from "./wire.ts";

test("requests leave no listeners on the connection that they share", async () => {
  const server = createServer((_request, response) => response.end("ok"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const counts = new Set<number>();
  const { reuseSocket } = Agent.prototype;
  Agent.prototype.reuseSocket = function reuse(socket, request) {
    counts.add(socket.listenerCount("connect"));
    reuseSocket.call(this, socket, request);
  };
  const transport = plainTransport(new URL(`http://127.0.0.1:${port}`));
  try {
    for (let index = 0; index < 5; index++) {
      const { body } = await transport.send({
        method: "GET",
        path: "/",
        headers: {},
        body: undefined,
        signal: neverAborted,
      });
      await text(body as AsyncIterable<Uint8Array>);
    }
    assert.deepEqual([...counts], [0]);
  } finally {
    Agent.prototype.reuseSocket = reuseSocket;
    transport.close();
    server.close();
  }
});

const post = { method: "POST", path: "/", headers: {}, signal: neverAborted };

test("a body that arrives bit by bit is not read before there is a connection, and can be sent again", async () => {
  const server = createServer((request, response) => request.pipe(response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  // Nothing listens at port 1.
  const nowhere = plainTransport(new URL("http://127.0.0.1:1"));
  const somewhere = plainTransport(new URL(`http://127.0.0.1:${port}`));
  const body = Readable.from([Buffer.from("first "), Buffer.from("last")]);
  try {
    await assert.rejects(
      nowhere.send({ ...post, body }),
      (error) => error instanceof WireError && error.kind === "connect",
    );
    const response = await somewhere.send({ ...post, body });

    assert.equal(await text(response.body), "first last");
  } finally {
    nowhere.close();
    somewhere.close();
    server.close();
  }
});

test("a body whose sender leaves is not taken for a complete one", async () => {
  const arrived = Promise.withResolvers<boolean>();
  const server = createServer((request) => {
    request.resume();
    request.once("close", () => arrived.resolve(request.complete));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const transport = plainTransport(new URL(`http://127.0.0.1:${port}`));
  const body = new PassThrough();
  body.write("half");
  server.once("request", () => body.destroy());
  try {
    await assert.rejects(transport.send({ ...post, body }), WireError);

    assert.equal(await arrived.promise, false);
  } finally {
    transport.close();
    server.close();
  }
});
