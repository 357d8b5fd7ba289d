import type { Agent, IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import { availableParallelism } from "node:os";
import type { Duplex } from "node:stream";
import { allContainers } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import { badRequest, methodNotAllowed, StatusError } from "#api/status.ts";
import type { Clock } from "#lib/async/clock.ts";
import { createLocalServer } from "#lib/net/local-server.ts";
import { ignore } from "#lib/net/sockets.ts";
import { mayUpgrade } from "#lib/net/upgrade.ts";
import type { Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { Hop } from "#trace/hop.ts";
import { type Access, nodeAccess } from "./access.ts";
import type { KubeletHandle } from "./handle.ts";
import { limitConnections, serverTimeouts } from "./limit-connections.ts";
import { containerLogs } from "./logs.ts";
import { machineLogs } from "./machine-logs.ts";
import { renderContainerMetrics, renderKubeletMetrics, renderProbeMetrics } from "./render-metrics.ts";
import { CpuRates, renderResourceMetrics, renderSummary } from "./render-stats.ts";
import { containerOf, type NodeRequest, type Route, refuse, type UpgradeRoute } from "./requests.ts";
import { attach, exec, portForward, refuseUpgrade } from "./streams.ts";

export interface KubeletServerOptions {
  readonly host?: string;
  /** 0 picks a free port. */
  readonly port: number;
  readonly key: string;
  readonly cert: string;
  /** The authority that signs client certificates. */
  readonly clientCa: string;
  readonly handle: KubeletHandle;
  readonly clock: Clock;
  readonly log: Log;
  /** The machine's logs, which are served under /logs/; none by default. */
  readonly logDir?: string | undefined;
  /** What /configz shows. */
  readonly configuration?: object;
  /** Whether the inside of containers is shown; true by default. */
  readonly showsContainers?: boolean;
  /** What this node recorded of a trace. */
  hopsOf?(traceId: string): readonly Hop[];
  /** Authorizes requests; by default only the API server and administrators, by certificate. */
  readonly access?: Access;
}

export interface KubeletServer extends AsyncDisposable {
  readonly port: number;
  /** Sets the certificate and the client authority of new connections; open ones continue. */
  renew(pair: Pick<KubeletServerOptions, "key" | "cert" | "clientCa">): void;
}

/** The kubelet's HTTPS server: logs, commands, port forwarding and metrics, for the API server. */
export async function startKubeletServer(options: KubeletServerOptions): Promise<KubeletServer> {
  const { host = "127.0.0.1", port, key, cert, clientCa: ca } = options;
  const server = https.createServer({
    key,
    cert,
    ca,
    requestCert: true,
    rejectUnauthorized: false,
    shouldUpgradeCallback: mayUpgrade,
    ...serverTimeouts,
  });
  const connections = limitConnections(server);
  const serving = createServing(options);
  server.on("request", (message, response) => void onRequest(serving, message, response));
  server.on("upgrade", (message, socket, head) => void onUpgrade(serving, message, { socket, head }));
  server.on("secureConnection", (socket) => socket.on("error", ignore));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve());
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : port,
    renew: (pair) => server.setSecureContext({ key: pair.key, cert: pair.cert, ca: pair.clientCa }),
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections[Symbol.dispose]();
      await closed;
    },
  };
}

/**
 * The same server without a network, for a node in this process: only the agent reaches it, and everything that it sends
 * is allowed. `mayConnect` throws while the node does not answer.
 */
export function createLocalKubeletServer(
  options: Pick<KubeletServerOptions, "handle" | "clock" | "log" | "configuration">,
  mayConnect: () => void,
): Agent {
  const serving = createServing({ ...options, access: () => {} });
  return createLocalServer({
    onRequest: (message, response) => void onRequest(serving, message, response),
    onUpgrade: (message, socket, head) => void onUpgrade(serving, message, { socket, head }),
    mayConnect,
  }).agent;
}

/** What requests need. */
type ServingOptions = Omit<KubeletServerOptions, "port" | "key" | "cert" | "clientCa">;

interface Serving {
  readonly options: ServingOptions;
  readonly access: Access;
  readonly routes: Readonly<Record<string, Route>>;
  readonly upgradeRoutes: Readonly<Record<string, UpgradeRoute>>;
}

function createServing(options: ServingOptions): Serving {
  const { handle, clock, showsContainers = true } = options;
  const routes = { ...stateRoutes(options), ...(showsContainers ? containerRoutes(options) : disabledRoutes) };
  const access = options.access ?? nodeAccess(handle.nodeName, clock);
  return { options, access, routes, upgradeRoutes: showsContainers ? upgradeRoutes : {} };
}

/** What is running, and how it is. */
function stateRoutes({ handle, clock, hopsOf }: ServingOptions): Record<string, Route> {
  const rates = new CpuRates();
  const startedMs = clock.now();
  const summary: Route = async ({ signal }, response) =>
    sendJson(response, renderSummary(await handle.stats(signal), rates));
  const metrics: Readonly<Record<string, (signal: AbortSignal) => string | Promise<string>>> = {
    "": () =>
      renderKubeletMetrics({ nodeName: handle.nodeName, counts: handle.counts(), process: ownProcess(startedMs) }),
    resource: async (signal) => renderResourceMetrics(await handle.stats(signal)),
    cadvisor: async (signal) =>
      renderContainerMetrics(await handle.stats(signal), handle.pods(), availableParallelism()),
    probes: () => renderProbeMetrics(handle.counts(), startedMs),
  };
  return {
    orlop: ({ path: [, topic, traceId = "", ...more] }, response) => {
      if (topic !== "hops" || more.length > 0 || !hopsOf) throw noSuchPath();
      sendJson(response, hopsOf(traceId));
    },
    healthz: (_, response) => void response.writeHead(200, plainText).end("ok"),
    pods: (_, response) => sendPods(response, handle.pods()),
    async stats(request, response) {
      if (request.path[1] !== "summary") throw noSuchPath();
      await summary(request, response);
    },
    async metrics({ path, signal }, response) {
      const name = path[1] ?? "";
      const render = Object.hasOwn(metrics, name) && path.length <= 2 ? metrics[name] : undefined;
      if (!render) throw noSuchPath();
      response.writeHead(200, metricsText).end(await render(signal));
    },
  };
}

const ownProcess = (startedMs: number) => {
  const { user, system } = process.cpuUsage();
  return { startedMs, cpuSeconds: (user + system) / 1e6, residentBytes: process.memoryUsage.rss() };
};

/** What shows or changes the inside of containers and of the machine. */
function containerRoutes({ handle, logDir, configuration }: ServingOptions): Record<string, Route> {
  return {
    containerLogs,
    run: runCommand,
    checkpoint,
    configz: (_, response) => sendJson(response, { kubeletconfig: configuration ?? {} }),
    runningpods: (_, response) =>
      sendPods(
        response,
        handle.pods().filter(({ status }) => status.phase === "Running"),
      ),
    async logs(request, response) {
      if (logDir === undefined) throw new StatusError("MethodNotAllowed", "logs endpoint is disabled.");
      await machineLogs(logDir, request, response);
    },
  };
}

const disabled: Route = () => {
  throw new StatusError("MethodNotAllowed", "Debug endpoints are disabled.");
};
const disabledRoutes: Record<string, Route> = Object.fromEntries(
  ["run", "exec", "attach", "portForward", "containerLogs", "runningpods", "logs"].map((name) => [name, disabled]),
);

const sendPods = (response: ServerResponse, items: readonly Pod[]): void =>
  sendJson(response, { kind: "PodList", apiVersion: "v1", metadata: {}, items });

/** POST /checkpoint/NAMESPACE/POD/CONTAINER */
const checkpoint: Route = async (request, response) => {
  if (request.message.method !== "POST") throw methodNotAllowed();
  const { ref, container } = containerOf(request);
  const pod = request.handle.pods().find(({ metadata: { namespace, name } }) => {
    return namespace === ref.namespace && name === ref.name;
  });
  if (!pod) throw new StatusError("NotFound", "pod does not exist");
  if (!allContainers(pod.spec).some(({ name }) => name === container)) {
    throw new StatusError("NotFound", `container ${container} does not exist`);
  }
  const timeout = request.query.getAll("timeout").at(-1);
  if (timeout !== undefined && !/^\d{1,9}$/.test(timeout)) {
    throw new StatusError("NotFound", "cannot parse value of timeout parameter");
  }
  const options = { signal: request.signal, ...(timeout === undefined ? {} : { timeoutSeconds: Number(timeout) }) };
  const file = await request.handle.checkpoint(ref, container, options).catch((error: unknown) => {
    const what = `${ref.namespace}/${ref.name}/${container}`;
    throw new Error(`checkpointing of ${what} failed (${messageOf(error)})`, { cause: error });
  });
  sendJson(response, { items: [file] });
};

const plainText = { "content-type": "text/plain; charset=utf-8" };
const metricsText = { "content-type": "text/plain; version=0.0.4; charset=utf-8" };
const noSuchPath = (): StatusError => new StatusError("NotFound", "404 page not found");

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

/** POST /run/NAMESPACE/POD/CONTAINER?cmd=… */
const runCommand: Route = async (request, response) => {
  if (request.message.method !== "POST") throw methodNotAllowed();
  const { ref, container } = containerOf(request);
  const command = (request.query.get("cmd") ?? "").split(" ");
  const { stdout, stderr, exitCode } = await request.handle.run(ref, container, command, request.signal);
  const text = Buffer.concat([stdout, stderr]);
  response.writeHead(exitCode === 0 ? 200 : 500, plainText).end(text);
};

const upgradeRoutes: Readonly<Record<string, UpgradeRoute>> = { exec, attach, portForward };

async function onRequest(serving: Serving, message: IncomingMessage, response: ServerResponse): Promise<void> {
  const left = new AbortController();
  response.once("close", () => left.abort());
  response.on("error", ignore);
  message.resume();
  try {
    const request = nodeRequest(serving, message, left.signal);
    const [name = ""] = request.path;
    await serving.access(message, name);
    if (Object.hasOwn(serving.upgradeRoutes, name)) throw badRequest("Upgrade request required");
    const route = Object.hasOwn(serving.routes, name) ? serving.routes[name] : undefined;
    if (!route) throw noSuchPath();
    await route(request, response);
  } catch (error) {
    if (!left.signal.aborted) refuse(response, error, 500);
  }
}

async function onUpgrade(
  serving: Serving,
  message: IncomingMessage,
  connection: { socket: Duplex; head: Buffer },
): Promise<void> {
  const left = new AbortController();
  connection.socket.once("close", () => left.abort());
  connection.socket.on("error", ignore);
  try {
    const request = nodeRequest(serving, message, left.signal);
    const [name = ""] = request.path;
    await serving.access(message, name);
    const route = Object.hasOwn(serving.upgradeRoutes, name) ? serving.upgradeRoutes[name] : undefined;
    if (!route) throw noSuchPath();
    await route(request, connection);
  } catch (error) {
    refuseUpgrade(connection, error, serving.options.clock);
  }
}

function nodeRequest({ options }: Serving, message: IncomingMessage, signal: AbortSignal): NodeRequest {
  const { handle, clock, log } = options;
  const url = new URL(message.url ?? "/", "https://node");
  const path = url.pathname.split("/").slice(1).map(decodeSegment);
  return { handle, clock, log, message, path, query: url.searchParams, signal };
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw badRequest(`the path segment ${JSON.stringify(segment)} is not valid percent-encoding`);
  }
}
