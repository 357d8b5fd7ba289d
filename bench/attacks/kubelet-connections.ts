import { once } from "node:events";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Attack } from "./attack.ts";

/** Opens connections to the kubelet's server, and never begins the handshake. */
export const attack: Attack = {
  name: "kubelet-connections",
  claim: "at most 256 unknown connections per address, 10 s for the handshake",
  needs: "node",

  async run({ ask }, signal) {
    const { text } = await ask({ as: "admin", path: "/api/v1/nodes" });
    const [node] = (JSON.parse(text) as NodeList).items;
    const host = node?.status.addresses.find(({ type }) => type === "InternalIP")?.address;
    const port = node?.status.daemonEndpoints.kubeletEndpoint.Port;
    if (!host || !port) throw new Error("the node has no address");
    const open = new Set<net.Socket>();
    const seen = { most: 0, refused: 0 };
    while (!signal.aborted) {
      const socket = net.connect({ host, port });
      socket.on("error", () => {});
      open.add(socket);
      socket.once("close", () => {
        open.delete(socket);
        seen.refused++;
      });
      await Promise.race([once(socket, "connect"), once(socket, "close")]).catch(() => {});
      seen.most = Math.max(seen.most, open.size);
      await sleep(2);
    }
    for (const socket of open) socket.destroy();
    if (seen.most > 300) throw new Error(`${seen.most} connections were open concurrently`);
    return `${seen.most} open concurrently, ${seen.refused} closed by the node`;
  },
};

interface NodeList {
  items: {
    status: {
      addresses: { type: string; address: string }[];
      daemonEndpoints: { kubeletEndpoint: { Port: number } };
    };
  }[];
}
