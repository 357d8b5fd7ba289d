import { badRequest, methodNotAllowed } from "#api/status.ts";
import { isSet } from "#lib/net/query-flag.ts";
import { type UpgradeResult, upgradeHeaders } from "#lib/net/upgrade.ts";
import { acceptWebSocket, type WebSocketRequest } from "#lib/net/websocket.ts";
import { SpdySession } from "#lib/proto/spdy/session.ts";
import { mayCreate } from "#server/authorize/may-create.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { type Endpoint } from "../dispatch.ts";
import { bridgeChannels, channelProtocols, type WantedStreams } from "./channels.ts";
import { type StreamDeps } from "./deps.ts";
import { dialNode, type NodeLink, type NodeLinks, nodeUrl } from "./node-link.ts";
import { admitConnection, containerOf, nodeOf, podOf } from "./pod-target.ts";
import { negotiateProtocol, passThrough, refusedUpgrade, requireUpgrade, webSocketOf } from "./upgrades.ts";

/** pods/NAME/exec: runs a command in a container. */
export const execEndpoint = (deps: StreamDeps, links: NodeLinks): Endpoint =>
  commandEndpoint(deps, links, { kind: "PodExecOptions", route: "exec" });

/** pods/NAME/attach: attaches to the streams of a container's main process. */
export const attachEndpoint = (deps: StreamDeps, links: NodeLinks): Endpoint =>
  commandEndpoint(deps, links, { kind: "PodAttachOptions", route: "attach" });

interface CommandKind {
  readonly kind: string;
  readonly route: "exec" | "attach";
}

const commandEndpoint =
  (deps: StreamDeps, links: NodeLinks, { kind, route }: CommandKind): Endpoint =>
  async (context, resource) => {
    if (context.info.verb !== "get" && context.info.verb !== "create") {
      throw methodNotAllowed();
    }
    await mayCreate(deps.authorizers, context);
    const wanted = wantedStreams(context.query);
    const command = route === "exec" ? context.query.getAll("command") : [];
    const asked = context.query.get("container") ?? "";
    const options = { kind, ...wanted, container: asked, ...(route === "exec" ? { command } : {}) };
    await admitConnection(deps.admission, context, { resource, options });
    const pod = await podOf(deps.objects, context);
    const container = containerOf(pod, asked);
    const link = await links.find(nodeOf(pod));
    requireUpgrade(context);
    const { namespace, name } = context.info;
    const path = [route, namespace, name, container];
    return await connect(deps, context, { link, path, wanted, command });
  };

interface Target {
  readonly link: NodeLink;
  readonly path: readonly string[];
  readonly wanted: WantedStreams;
  readonly command: readonly string[];
}

const wantedStreams = (query: URLSearchParams): WantedStreams => ({
  stdin: isSet(query, "stdin"),
  stdout: isSet(query, "stdout"),
  stderr: isSet(query, "stderr"),
  tty: isSet(query, "tty"),
});

/** SPDY is passed through to the node; WebSockets are translated to SPDY here. */
async function connect(deps: StreamDeps, context: Context, { link, path, wanted, command }: Target): Promise<Answer> {
  const { signal, headers } = context.request;
  const webSocket = webSocketOf(context);
  const protocol = webSocket ? negotiateProtocol(webSocket.protocols, channelProtocols.keys()) : "";
  const url = nodeUrl(link, path, commandQuery(wanted, command));
  const sent = webSocket ? spdyUpgrade : upgradeHeaders(headers);
  const result = await dialNode({ url, method: "POST", headers: sent, agent: link.agent, signal });
  if (result.type === "refused") return refusedUpgrade(result.response);
  if (!webSocket) return passThrough(result, deps.clock);
  return translated(deps, { result, webSocket, protocol, wanted });
}

const spdyUpgrade = { connection: "Upgrade", upgrade: "SPDY/3.1", "x-stream-protocol-version": ["v4.channel.k8s.io"] };

function commandQuery(wanted: WantedStreams, command: readonly string[]): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, isWanted] of Object.entries(wanted)) if (isWanted) query.set(name, "1");
  for (const word of command) query.append("command", word);
  return query;
}

interface Translation {
  readonly result: Extract<UpgradeResult, { type: "upgraded" }>;
  readonly webSocket: WebSocketRequest;
  readonly protocol: string;
  readonly wanted: WantedStreams;
}

function translated({ clock, log }: StreamDeps, { result, webSocket, protocol, wanted }: Translation): Answer {
  const channels = channelProtocols.get(protocol);
  if (!channels) throw badRequest(`unknown subprotocol ${JSON.stringify(protocol)}`);
  return {
    type: "upgrade",
    accept(connection) {
      const serve = async () => {
        const node = new SpdySession(result.socket, { clock, head: result.head });
        const client = await acceptWebSocket(webSocket, protocol, connection);
        await bridgeChannels({ client, node, protocol: channels, wanted, clock });
      };
      serve().catch((error: unknown) => {
        result.socket.destroy();
        log.debug("stream broke off", { error });
      });
    },
  };
}
