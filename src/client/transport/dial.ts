import { request as plainRequest } from "node:http";
import { connect as connectTcp, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from "node:tls";
import type { Credentials } from "#client/kubeconfig/credentials.ts";
import { type Clock } from "#lib/async/clock.ts";
import { versionOfIP } from "#lib/net/ip.ts";
import type { ClientConfig } from "../client-config.ts";

/** TLS options for a connection to the server; also for separate connections (exec, port-forward). */
export async function tlsOptions(url: URL, config: ClientConfig, credentials: Credentials): Promise<ConnectionOptions> {
  const { tls = {} } = config;
  const { cert, key } = (await credentials.certificate()) ?? tls.certificate?.() ?? tls;
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const servername = tls.serverName ?? (versionOfIP(host) ? undefined : host);
  return {
    host,
    port: Number(url.port || 443),
    rejectUnauthorized: !tls.insecureSkipVerify,
    ...(tls.ca ? { ca: tls.ca } : {}),
    ...(cert && key ? { cert, key } : {}),
    ...(servername ? { servername } : {}),
  };
}

export interface DialDeps {
  readonly credentials: Credentials;
  readonly clock: Clock;
}

/** A connected socket, and whether it uses HTTP/2. */
export interface Dialed {
  readonly socket: Socket;
  readonly http2: boolean;
}

export async function dial(url: URL, config: ClientConfig, { credentials, clock }: DialDeps): Promise<Dialed> {
  const options = await tlsOptions(url, config, credentials);
  const tunnel = config.proxyUrl ? await connectTunnel(new URL(config.proxyUrl), url) : undefined;
  if (url.protocol !== "https:") {
    const socket = tunnel ?? connectTcp({ host: options.host ?? "", port: Number(url.port || 80) });
    if (!tunnel) await ready(socket, "connect", clock);
    return { socket, http2: true };
  }
  const through = tunnel ? { socket: tunnel } : {};
  const socket: TLSSocket = connectTls({ ...options, ...through, ALPNProtocols: ["h2", "http/1.1"] });
  await ready(socket, "secureConnect", clock);
  return { socket, http2: socket.alpnProtocol === "h2" };
}

const dialTimeoutMs = 30_000;

function ready(socket: Socket, event: string, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(dialTimeoutMs, () => socket.destroy(new Error(`no ${event} in ${dialTimeoutMs} ms`)));
    const fail = (error: Error) => {
      cancel();
      reject(error);
    };
    socket.once("error", fail);
    socket.once(event, () => {
      cancel();
      socket.off("error", fail);
      socket.setNoDelay(true);
      resolve();
    });
  });
}

function connectTunnel(proxy: URL, target: URL): Promise<Socket> {
  const authority = `${target.hostname}:${target.port || (target.protocol === "https:" ? 443 : 80)}`;
  const credentials = proxy.username ? `${proxy.username}:${proxy.password}` : "";
  const headers = credentials
    ? { "proxy-authorization": `Basic ${Buffer.from(decodeURIComponent(credentials)).toString("base64")}` }
    : {};
  return new Promise((resolve, reject) => {
    const { hostname: host, port } = proxy;
    const request = plainRequest({ host, port: port || 80, method: "CONNECT", path: authority, headers });
    request.once("error", reject);
    request.once("connect", (response, socket: Socket) => {
      if (response.statusCode === 200) resolve(socket);
      else reject(new Error(`the proxy ${proxy.host} refused with status ${response.statusCode}`));
    });
    request.end();
  });
}
