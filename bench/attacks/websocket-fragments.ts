import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { startFloods } from "../lib/hostile-pods.ts";
import { type Attack, type AttackTarget } from "./attack.ts";

const maxBufferedBytes = 1 << 20;

/** Sends empty fragments of one endless message to the input of an exec, and pings. */
export const attack: Attack = {
  name: "websocket-fragments",
  claim: "closed after 1,024 fragments; pings are answered once per turn",
  needs: "node",
  prepare: (target) => startFloods(target, [{ name: "shell", start: "", block: "x" }]),

  async run(target, signal) {
    const sent = { fragments: 0, pings: 0, cut: 0 };
    while (!signal.aborted) await Promise.all([flood(target, sent, signal), flood(target, sent, signal)]);
    if (sent.cut === 0) throw new Error(`${sent.fragments} fragments were accepted, and no connection was closed`);
    return `${sent.cut} connections closed, ${sent.fragments} fragments and ${sent.pings} pings sent`;
  },
};

type Sent = { fragments: number; pings: number; cut: number };

/** Floods one connection until it is closed. */
async function flood(target: AttackTarget, sent: Sent, signal: AbortSignal): Promise<void> {
  const { url, ca, token, namespace } = target;
  const path = `/api/v1/namespaces/${namespace}/pods/shell/exec?stdin=1&stdout=1&command=cat`;
  const headers = { authorization: `Bearer ${token}` };
  const socket = new WebSocket(url.replace("https", "wss") + path, ["v5.channel.k8s.io"], { ca, headers });
  const closed = Promise.withResolvers<number>();
  socket.on("close", closed.resolve);
  socket.on("error", () => {});
  await Promise.race([new Promise((resolve) => socket.once("open", resolve)), closed.promise]);
  while (!signal.aborted && socket.readyState === socket.OPEN) {
    for (let n = 0; n < 200 && socket.bufferedAmount < maxBufferedBytes; n++) {
      socket.send(Buffer.alloc(0), { fin: false }, () => {});
      socket.ping(undefined, undefined, () => {});
      sent.fragments++;
      sent.pings++;
    }
    await sleep(1);
  }
  if (signal.aborted) return socket.terminate();
  if ((await closed.promise) === 1008) sent.cut++;
}
