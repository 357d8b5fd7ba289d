import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import { type Attack } from "./attack.ts";

const ports = [
  "x@127.0.0.1:PORT",
  "PORT@127.0.0.1",
  "80/@127.0.0.1:PORT",
  "80#@127.0.0.1:PORT",
  "@127.0.0.1:PORT",
  "80\\@127.0.0.1",
];

/** Puts an address in place of the port of a pod, a service or a node, to make the API server call it. */
export const attack: Attack = {
  name: "proxy-ssrf",
  claim: "a port is a number or a name: 400, and no call is made",
  needs: "server",

  async run({ ask, namespace }, signal) {
    let calls = 0;
    const listener = net.createServer((socket) => {
      calls++;
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo;
    const places = [
      { as: "attacker", path: `namespaces/${namespace}/pods` },
      { as: "attacker", path: `namespaces/${namespace}/services` },
      // The right to use the proxy of nodes does not include calls to this machine.
      { as: "admin", path: "nodes" },
    ] as const;
    const names = ports.flatMap((text) => [`victim:${text}`, `http:victim:${text}`, `https:victim:${text}`]);
    let refused = 0;
    while (!signal.aborted) {
      for (const { as, path } of places) {
        for (const name of names) {
          const segment = encodeURIComponent(name.replace("PORT", String(port)));
          const { status } = await ask({ as, path: `/api/v1/${path}/${segment}/proxy/` });
          if (status !== 400) throw new Error(`${path}/${name} was answered with ${status}`);
          refused++;
        }
      }
    }
    listener.close();
    if (calls > 0) throw new Error(`the listener was called ${calls} times`);
    return `${refused} refused with 400`;
  },
};
