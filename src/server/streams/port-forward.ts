import { type Duplex } from "node:stream";
import { methodNotAllowed, StatusError } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { chunksOf, endSoon, IdleTimer, writeAll } from "#lib/net/sockets.ts";
import { type UpgradeResult, upgradeHeaders } from "#lib/net/upgrade.ts";
import { acceptWebSocket, type WebSocketConnection, type WebSocketRequest } from "#lib/net/websocket.ts";
import { mayCreate } from "#server/authorize/may-create.ts";
import { type Answer } from "#server/request/pipeline.ts";
import { type Endpoint } from "../dispatch.ts";
import { idleMs } from "./channels.ts";
import { type StreamDeps } from "./deps.ts";
import { dialNode, type NodeLinks, nodeUrl } from "./node-link.ts";
import { admitConnection, nodeOf, parseInteger, podOf } from "./pod-target.ts";
import { passThrough, refusedUpgrade, requireUpgrade, webSocketOf } from "./upgrades.ts";

/** Subprotocols whose messages are the bytes of a SPDY connection, followed by that connection's own protocol. */
const tunnelPrefix = "SPDY/3.1+";

/** pods/NAME/portforward: connections to ports of a pod. */
export const portForwardEndpoint =
  (deps: StreamDeps, links: NodeLinks): Endpoint =>
  async (context, resource) => {
    if (context.info.verb !== "get" && context.info.verb !== "create") {
      throw methodNotAllowed();
    }
    await mayCreate(deps.authorizers, context);
    const ports = context.query.getAll("ports").map(parseInteger);
    const options = { kind: "PodPortForwardOptions", ...(ports.length > 0 ? { ports } : {}) };
    await admitConnection(deps.admission, context, { resource, options });
    const pod = await podOf(deps.objects, context);
    const link = await links.find(nodeOf(pod));
    requireUpgrade(context);
    const { namespace, name } = context.info;
    const query = new URLSearchParams(ports.length > 0 ? { port: ports.join(",") } : {});
    const url = nodeUrl(link, ["portForward", namespace, name], query);
    const { headers, signal, method } = context.request;
    const webSocket = webSocketOf(context);
    const tunnels = tunnelsOf(webSocket);
    const sent =
      tunnels.length > 0 ? { ...spdyUpgrade, "x-stream-protocol-version": tunnels } : upgradeHeaders(headers);
    // The runtime serves a WebSocket that is not a tunnel, and that begins with GET there too.
    const verb = webSocket && tunnels.length === 0 ? method : "POST";
    const result = await dialNode({ url, method: verb, headers: sent, agent: link.agent, signal });
    if (result.type === "refused") return refusedUpgrade(result.response);
    return webSocket && tunnels.length > 0 ? tunnelled(result, webSocket, deps) : passThrough(result, deps.clock);
  };

const spdyUpgrade = { connection: "Upgrade", upgrade: "SPDY/3.1" };

const tunnelsOf = (webSocket: WebSocketRequest | undefined): string[] =>
  (webSocket?.protocols ?? [])
    .filter((name) => name.startsWith(tunnelPrefix) && name.endsWith(".k8s.io"))
    .map((name) => name.slice(tunnelPrefix.length));

function tunnelled(
  { response, socket: node, head: behind }: Extract<UpgradeResult, { type: "upgraded" }>,
  webSocket: WebSocketRequest,
  { clock, log }: StreamDeps,
): Answer {
  const chosen = response.headers["x-stream-protocol-version"];
  if (typeof chosen !== "string" || !tunnelsOf(webSocket).includes(chosen)) {
    node.destroy();
    throw new StatusError("InternalError", "unable to upgrade: the node does not speak a protocol that was offered");
  }
  return {
    type: "upgrade",
    accept(connection) {
      const serve = async () => {
        const client = await acceptWebSocket(webSocket, `${tunnelPrefix}${chosen}`, connection);
        if (behind.length > 0) node.unshift(behind);
        await tunnel(client, node, clock);
      };
      serve().catch((error: unknown) => {
        node.destroy();
        log.debug("tunnel broke off", { error });
      });
    },
  };
}

/** Copies between messages on one side and their bytes on the other. */
export async function tunnel(client: WebSocketConnection, node: Duplex, clock: Clock): Promise<void> {
  const end = () => {
    client.close();
    endSoon(node, clock);
  };
  const idle = new IdleTimer(clock, idleMs, end);
  const up = async (): Promise<void> => {
    for await (const { data } of client.messages()) {
      idle.touch();
      await writeAll(node, data);
    }
  };
  const down = async (): Promise<void> => {
    for await (const chunk of chunksOf(node)) {
      idle.touch();
      await client.send("binary", chunk);
    }
  };
  try {
    await Promise.race([up(), down()]);
  } finally {
    idle.stop();
    end();
  }
}
