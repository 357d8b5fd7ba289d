import assert from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { neverAborted } from "#lib/async/tasks.ts";
import { plainTransport } from "./http1.ts";

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
