import assert from "node:assert/strict";
import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { realNetwork } from "./network.ts";

const host = "127.0.0.1";
/** The timeout is long, so that only the limits under test can end a check. */
const limits = { clock: systemClock, timeoutMs: 600_000, signal: neverAborted };

/**
 * A server that sends `start` once and then `block` forever, as fast as it is read. It sends a `greeting` before, and then
 * waits for the call.
 */
async function startFlood(start: string | Buffer, block: Buffer, greeting?: Buffer) {
  const closed = Promise.withResolvers<void>();
  const server = net.createServer((socket) => {
    const more = () => {
      while (block.length > 0 && !socket.destroyed && socket.write(block));
    };
    socket.on("error", () => {});
    socket.on("drain", more);
    socket.on("close", () => closed.resolve());
    const flood = () => {
      socket.write(start);
      more();
    };
    socket.once("data", (first: Buffer) => {
      if (!greeting) return flood();
      socket.write(greeting);
      const received = [first];
      socket.on("data", function look(chunk: Buffer) {
        received.push(chunk);
        if (!frameTypes(Buffer.concat(received)).includes(frame.headers)) return;
        socket.off("data", look);
        socket.resume();
        flood();
      });
    });
  });
  server.listen(0, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    closed: closed.promise,
    [Symbol.dispose]: () => void server.close(),
  };
}

const many = (text: string): Buffer => Buffer.from(text.repeat(1000), "latin1");
const ok = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

suite("an HTTP probe of a hostile pod", { timeout: 120_000 }, () => {
  const floods = [
    { name: "early hints", start: "", block: many("HTTP/1.1 103 Early Hints\r\n\r\n"), output: /too many 1xx/ },
    { name: "100s", start: "", block: many("HTTP/1.1 100 Continue\r\n\r\n"), output: /too many 1xx/ },
    { name: "headers", start: "HTTP/1.1 200 OK\r\n", block: many("x: yyyyyyyyyy\r\n"), output: /Header overflow/ },
    { name: "one header", start: "HTTP/1.1 200 OK\r\nx: ", block: many("yyyyyyyyyy"), output: /Header overflow/ },
    {
      name: "a chunk extension",
      start: `${ok}1;x=`,
      block: many("yyyyyyyyyy"),
      output: /overflow|more than 65536 bytes/,
    },
    { name: "something else", start: "", block: many("SSH-2.0-x\r\n"), output: /Parse Error/ },
  ];
  for (const { name, start, block, output } of floods) {
    test(`fails on endless ${name}, and disconnects`, async () => {
      using server = await startFlood(start, block);
      const check = { host, port: server.port, path: "/", scheme: "HTTP", headers: [], purpose: "probe" } as const;

      const outcome = await realNetwork.http(check, limits);

      assert.equal(outcome.result, "failure");
      assert.match(outcome.output, output);
      await server.closed;
    });
  }

  const bodies = [
    { name: "five hundred pieces of an endless body", block: many("1\r\nx\r\n"), length: 500 },
    {
      name: "ten kilobytes of an endless body in large pieces",
      block: many(`400\r\n${"x".repeat(1024)}\r\n`),
      length: 10_240,
    },
  ];
  for (const { name, block, length } of bodies)
    test(`accepts ${name}, and disconnects`, async () => {
      using server = await startFlood(ok, block);
      const check = { host, port: server.port, path: "/", scheme: "HTTP", headers: [], purpose: "probe" } as const;

      const outcome = await realNetwork.http(check, limits);

      assert.deepEqual([outcome.result, outcome.output.length], ["success", length]);
      await server.closed;
    });

  test("fails on endless TLS records, and disconnects", async () => {
    const alert = Buffer.from([0x15, 3, 3, 0, 2, 1, 90]);
    using server = await startFlood("", Buffer.concat(Array(1000).fill(alert)));
    const check = { host, port: server.port, path: "/", scheme: "HTTPS", headers: [], purpose: "lifecycle" } as const;

    const outcome = await realNetwork.http(check, limits);

    assert.equal(outcome.result, "failure");
    await server.closed;
  });

  for (const bad of ["a@b", "a/b", "a:1", "fe80::1%lo", "0x7f.1"]) {
    test(`does not use the host ${bad} as part of a URL`, async () => {
      const check = { host: bad, port: 1, path: "/", scheme: "HTTP", headers: [], purpose: "probe" } as const;

      const { result, output } = await realNetwork.http(check, limits);

      assert.deepEqual([result, output], ["failure", `${JSON.stringify(bad)} is not a host`]);
    });
  }
});

/** length (24), type (8), flags (8), stream (32), payload */
function h2(type: number, payload: readonly number[] = [], { flags = 0, stream = 0 } = {}): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, Buffer.from(payload)]);
}
/** The types of the frames behind the preface of a client. */
function frameTypes(sent: Buffer): number[] {
  const types: number[] = [];
  for (let at = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".length; at + 9 <= sent.length; at += 9 + sent.readUIntBE(at, 3)) {
    types.push(sent.readUInt8(at + 3));
  }
  return types;
}
const frame = { data: 0, headers: 1, settings: 4, ping: 6, goAway: 7, windowUpdate: 8, continuation: 9, unknown: 0xf0 };
const eight = [0, 0, 0, 0, 0, 0, 0, 0];
const greeting = Buffer.concat([h2(frame.settings), h2(frame.settings, [], { flags: 1 })]);
/** `:status: 103`, not in the table: a literal with an indexed name. */
const hints = [0x08, 3, 0x31, 0x30, 0x33];

suite("a gRPC probe of a hostile pod", { timeout: 120_000 }, () => {
  const floods = [
    { name: "WINDOW_UPDATE", block: h2(frame.windowUpdate, [0, 0, 0, 1]) },
    { name: "SETTINGS", block: h2(frame.settings) },
    { name: "PING", block: h2(frame.ping, eight) },
    { name: "GOAWAY", block: h2(frame.goAway, eight) },
    { name: "103 HEADERS", block: h2(frame.headers, hints, { flags: 4, stream: 1 }) },
    { name: "unknown frames", block: h2(frame.unknown) },
    { name: "empty DATA", block: h2(frame.data, [], { stream: 1 }) },
    { name: "DATA", block: h2(frame.data, [0, 0, 0, 0, 0], { stream: 1 }) },
    {
      name: "CONTINUATION",
      start: h2(frame.headers, hints, { stream: 1 }),
      block: h2(frame.continuation, [], { stream: 1 }),
    },
    { name: "noise", start: Buffer.from("HTTP/1.1 200 OK\r\n\r\n"), block: Buffer.alloc(9) },
  ];
  for (const { name, start = Buffer.alloc(0), block } of floods) {
    test(`fails on endless ${name}, and disconnects`, async () => {
      const many = Buffer.concat(Array(1000).fill(block));
      using atOnce = await startFlood(Buffer.concat([greeting, start]), many);
      using afterTheCall = await startFlood(start, many, greeting);

      for (const server of [atOnce, afterTheCall]) {
        const { result, output } = await realNetwork.grpc({ host, port: server.port, service: "" }, limits);

        assert.equal(result, "failure", output);
        await server.closed;
      }
    });
  }

  test("fails on a message announced as large, before it arrives", async () => {
    const head = h2(frame.headers, [0x88], { flags: 4, stream: 1 });
    const start = Buffer.concat([head, h2(frame.data, [0, 0x40, 0, 0, 0], { stream: 1 })]);
    using server = await startFlood(start, Buffer.alloc(0), greeting);

    const { result, output } = await realNetwork.grpc({ host, port: server.port, service: "" }, limits);

    assert.equal(result, "failure");
    assert.match(output, /larger than max \(1073741824 vs\. 16384\)/);
  });
});
