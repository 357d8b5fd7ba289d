import http from "node:http";
import https from "node:https";
import net from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { limitReads } from "#lib/net/limit-reads.ts";
import { originUrl } from "#lib/net/origin-url.ts";
import { limitInterim } from "#lib/net/upgrade.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { CheckLimits, HttpCheck, ProbeOutcome } from "./network.ts";
import { describeDial, joinHostPort } from "./tcp.ts";

/** How much of a body is read; it is only shown to people. */
const maxBodyBytes = 10 * 1024;
const maxBodyPieces = 500;
/** What a pod may send for one request, including handshakes and interim answers. Headers alone may have 16 KiB. */
const readLimits = { bytes: 64 << 10, chunks: 512 };
const maxRedirects = 10;

/** Succeeds for a status from 200 to 399. Redirects are followed on the same host only. */
export async function probeHttp(check: HttpCheck, limits: CheckLimits): Promise<ProbeOutcome> {
  const url = urlOf(check);
  if (typeof url === "string") return failure(url);
  const { clock, timeoutMs, signal } = limits;
  const answer = await withDeadline(timeoutMs, { clock, signal }, (limit) => follow(url, check, limit));
  if (answer === outOfTime) {
    const why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
    return failure(`Get "${url.href}": ${why}`);
  }
  return answer;
}

const failure = (output: string): ProbeOutcome => ({ result: "failure", output });

/** The URL to request, or what is wrong with it. The path may have a query; the host must be only a host. */
function urlOf({ scheme, host, port, path }: HttpCheck): URL | string {
  try {
    const url = originUrl({ scheme: scheme === "HTTPS" ? "https" : "http", host, port });
    const [, before = "", query = ""] = /^([^?#]*)\??([^#]*)/.exec(path) ?? [];
    url.pathname = before;
    url.search = query;
    return url;
  } catch (error) {
    return messageOf(error);
  }
}

async function follow(start: URL, check: HttpCheck, signal: AbortSignal): Promise<ProbeOutcome> {
  let url = start;
  for (let hops = 0; ; hops++) {
    const reply = await get(url, headersOf(check), signal);
    if (typeof reply === "string") return failure(`Get "${url.href}": ${reply}`);
    const { status, location, body } = reply;
    if (status < 200 || status >= 400) return { ...failure(`HTTP probe failed with statuscode: ${status}`), status };
    if (status < 300) return { result: "success", output: body, status };
    const next = location === undefined ? undefined : URL.parse(location, url);
    if (!next || next.hostname !== start.hostname) {
      return { result: "warning", output: `Probe terminated redirects, Response body: ${body}`, status };
    }
    if (next.protocol !== "http:" && next.protocol !== "https:") {
      return failure(`Get "${next.href}": unsupported protocol scheme "${next.protocol.slice(0, -1)}"`);
    }
    if (hops >= maxRedirects - 1) return failure(`Get "${next.href}": stopped after 10 redirects`);
    url = next;
  }
}

/** Each name may occur several times. An empty Accept removes the header. */
function headersOf({ headers, purpose }: HttpCheck): Record<string, string[]> {
  // Without a prototype: a pod may name a header `constructor`.
  const out: Record<string, string[]> = Object.create(null);
  for (const { name, value } of headers) {
    const key = name.toLowerCase();
    out[key] = [...(out[key] ?? []), value];
  }
  out["user-agent"] ??= [`kube-${purpose}/1.36`];
  if (out.accept?.[0] === "") delete out.accept;
  else out.accept ??= ["*/*"];
  return out;
}

interface Reply {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

/** Resolves with the error as text, if the request fails. */
function get(url: URL, headers: Record<string, string[]>, signal: AbortSignal): Promise<Reply | string> {
  return new Promise((resolve) => {
    const isTls = url.protocol === "https:";
    const { host, ...rest } = headers;
    const sent = { ...rest, connection: "close", ...(host?.[0] ? { host: host[0] } : {}) };
    // A pod's certificate is not verified, and no connection is kept for the next check.
    const options = { headers: sent, signal, createConnection: () => connect(url, signal) };
    const request = (isTls ? https : http).get(url, options, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const finish = () => {
        const body = Buffer.concat(chunks).toString().slice(0, maxBodyBytes);
        resolve({ status: response.statusCode ?? 0, location: response.headers.location, body });
      };
      response.on("data", (chunk: Buffer) => {
        // Chunks that were already read still arrive.
        if (response.destroyed) return;
        chunks.push(chunk);
        size += chunk.length;
        if (size < maxBodyBytes && chunks.length < maxBodyPieces) return;
        finish();
        response.destroy();
      });
      response.on("end", finish);
      response.on("error", (error) => resolve(error.message));
    });
    limitInterim(request);
    request.on("error", (error) => resolve(explain(url, error)));
  });
}

/** A new connection with a limit on what is received. */
function connect(url: URL, signal: AbortSignal): Duplex {
  const isTls = url.protocol === "https:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port) || (isTls ? 443 : 80);
  const socket = limitReads(net.connect({ host, port, signal }), readLimits);
  if (!isTls) return socket;
  return tls.connect({ socket, rejectUnauthorized: false, ...(net.isIP(host) ? {} : { servername: host }) });
}

function explain(url: URL, error: Error): string {
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  const code = "code" in error ? String(error.code) : "";
  if (code === "ECONNRESET") return "EOF";
  if (code === "EPROTO" && /wrong version number|packet length too long|http request/i.test(error.message)) {
    return "http: server gave HTTP response to HTTPS client";
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return code.startsWith("E") ? describeDial(joinHostPort(host, port), error) : error.message;
}
