import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, suite, test } from "node:test";
import * as grpc from "@grpc/grpc-js";
import { GrpcClient, rpc } from "./client.ts";
import { field, message } from "./message.ts";
import { serveGrpc, serveStream, serveUnary } from "./server.ts";
import { GrpcError } from "./status.ts";

const Text = message({ text: field(1, "string") });
const messages = { request: Text, response: Text };
const same = (bytes: Buffer): Buffer => bytes;
const definition = (path: string, responseStream: boolean) => ({
  path,
  requestStream: false,
  responseStream,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
});
const textOf = (bytes: Uint8Array): string => Text.decode(bytes).text;
const bytesOf = (text: string): Buffer => Buffer.from(Text.encode({ text }));

suite("our gRPC client and a grpc-js server", { timeout: 120_000 }, () => {
  let server: grpc.Server;
  let client: GrpcClient;

  beforeEach(async () => {
    server = new grpc.Server({ "grpc.max_send_message_length": -1, "grpc.max_receive_message_length": -1 });
    server.addService(
      { Say: definition("/test.Echo/Say", false), Many: definition("/test.Echo/Many", true) },
      {
        Say: (call: grpc.ServerUnaryCall<Buffer, Buffer>, reply: grpc.sendUnaryData<Buffer>) => {
          const text = textOf(call.request);
          if (text === "refuse") reply({ code: grpc.status.NOT_FOUND, details: "gone: ü 100%" });
          else if (text === "large") reply(null, bytesOf("x".repeat(17 << 20)));
          else if (text !== "hang") reply(null, bytesOf(`${text} ${call.metadata.get("who").join()}`));
        },
        Many(call: grpc.ServerWritableStream<Buffer, Buffer>) {
          for (let n = 0; n < Number(textOf(call.request)); n++) call.write(bytesOf("y".repeat(100_000) + n));
          call.end();
        },
      },
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    client = new GrpcClient({ address: `http://127.0.0.1:${port}` });
  });
  afterEach(() => {
    client.close();
    server.forceShutdown();
  });

  const say = rpc("/test.Echo/Say", Text, Text);

  test("understand each other's messages, metadata, statuses and deadlines", async () => {
    const reply = await client.call(say, { text: "hello" }, { metadata: { who: "me" } });

    assert.equal(reply.text, "hello me");
    await assert.rejects(client.call(say, { text: "refuse" }), { code: "NOT_FOUND", message: "gone: ü 100%" });
    await assert.rejects(client.call(say, { text: "hang" }, { timeoutMs: 20 }), { code: "DEADLINE_EXCEEDED" });
    const longest = await client.call(say, { text: "long" }, { timeoutMs: Number.MAX_SAFE_INTEGER });
    assert.equal(longest.text, "long ");
  });

  test("stream", async () => {
    const replies = await Array.fromAsync(client.stream(rpc("/test.Echo/Many", Text, Text), { text: "50" }));

    assert.deepEqual(
      replies.map(({ text }) => Number(text.slice(100_000))),
      Array.from({ length: 50 }, (_, n) => n),
    );
  });

  test("do not exchange messages over the limit, and go on", async () => {
    await assert.rejects(client.call(say, { text: "large" }), {
      code: "RESOURCE_EXHAUSTED",
      message: /larger than max/,
    });

    assert.equal((await client.call(say, { text: "still there" })).text, "still there ");
  });
});

suite("a grpc-js client and our gRPC server", { timeout: 120_000 }, () => {
  let dir: string;
  let stop: AsyncDisposable;
  let client: grpc.Client;

  beforeEach(async () => {
    dir = await mkdtemp(`${tmpdir()}/orlop-grpc-`);
    stop = await serveGrpc(`${dir}/s`, [
      serveUnary("/test.Echo/Say", messages, ({ text }) => {
        if (text === "refuse") throw new GrpcError("NOT_FOUND", "gone: ü");
        return { text: `${text.length}` };
      }),
      serveStream("/test.Echo/Many", messages, async function* ({ text }) {
        for (let n = 0; n < Number(text); n++) yield { text: `${n}` };
      }),
    ]);
    client = new grpc.Client(`unix://${dir}/s`, grpc.credentials.createInsecure());
  });
  afterEach(async () => {
    client.close();
    await stop[Symbol.asyncDispose]();
    await rm(dir, { recursive: true });
  });

  const call = (path: string, text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, same, same, bytesOf(text), (error, reply) =>
        error ? reject(error) : resolve(textOf(reply ?? Buffer.alloc(0))),
      );
    });

  test("understand each other's messages and statuses", async () => {
    assert.equal(await call("/test.Echo/Say", "x".repeat(1_000_000)), "1000000");
    await assert.rejects(call("/test.Echo/Say", "refuse"), { code: grpc.status.NOT_FOUND, details: "gone: ü" });
    await assert.rejects(call("/test.Echo/Nothing", ""), { code: grpc.status.UNIMPLEMENTED });
  });

  test("stream", async () => {
    const stream = client.makeServerStreamRequest("/test.Echo/Many", same, same, bytesOf("1000"));

    const replies: string[] = [];
    for await (const reply of stream) replies.push(textOf(reply));

    assert.equal(replies.length, 1000);
    assert.equal(replies.at(-1), "999");
  });

  test("do not exchange requests over the limit, and go on", async () => {
    await assert.rejects(call("/test.Echo/Say", "x".repeat(5 << 20)), { code: grpc.status.RESOURCE_EXHAUSTED });

    assert.equal(await call("/test.Echo/Say", "1"), "1");
  });
});
