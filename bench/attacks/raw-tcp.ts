import net from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { addressOf, BrokenClaim } from "../lib/hostile.ts";
import { type Attack } from "./attack.ts";

export const attack: Attack = {
  name: "TCP without TLS",
  claim: "256 per address older than 1 s, closed after 10 s",
  needs: "server",

  async run(target, signal) {
    const open = new Set<net.Socket>();
    let made = 0;
    let most = 0;
    while (!signal.aborted) {
      if (open.size < 2000) {
        const socket = net.connect(addressOf(target)).on("error", () => {});
        socket.on("close", () => open.delete(socket)).resume();
        open.add(socket);
        made++;
      }
      if (made % 20 === 0) await pause(5);
      most = Math.max(most, open.size);
      if (made % 1000 === 0) {
        const { status } = await target.ask({ path: "/readyz", as: "admin" });
        if (status !== 200) throw new BrokenClaim(`the administrator got ${status}`);
      }
    }
    for (const socket of open) socket.destroy();
    return `${made.toLocaleString("en-US")} connections made, ${most} open at most`;
  },
};
