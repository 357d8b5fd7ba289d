import http from "node:http";
import https from "node:https";
import { outOfTime, withDeadline } from "#lib/deadline.ts";
import type { CheckLimits, HttpCheck, ProbeOutcome } from "./network.ts";
import { describeDial, joinHostPort } from "./tcp.ts";

const maxBodyBytes = 10 * 1024;
const maxRedirects = 10;

/** Succeeds for a status from 200 to 399. Redirects are followed on the same host; another host is none of ours. */
export async function probeHttp(check: HttpCheck, limits: CheckLimits): Promise<ProbeOutcome> {
  const url = urlOf(check);
  const { clock, timeoutMs, signal } = limits;
  const answer = await withDeadline(timeoutMs, { clock, signal }, (limit) => follow(url, check, limit));
  if (answer === outOfTime) {
    const why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
    return failure(`Get "${url.href}": ${why}`);
  }
  return answer;
}

const failure = (output: string): ProbeOutcome => ({ result: "failure", output });

function urlOf({ scheme, host, port, path }: HttpCheck): URL {
  const base = `${scheme.toLowerCase()}://${joinHostPort(host, port)}`;
  return new URL(path.startsWith("/") ? `${base}${path}` : `${base}/${path}`);
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
    if (hops >= maxRedirects - 1) return failure(`Get "${next.href}": stopped after 10 redirects`);
    url = next;
  }
}

/** Each name may come several times. An empty Accept means none. */
function headersOf({ headers, purpose }: HttpCheck): Record<string, string[]> {
  const out: Record<string, string[]> = {};
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

/** Resolves with what went wrong as text. */
function get(url: URL, headers: Record<string, string[]>, signal: AbortSignal): Promise<Reply | string> {
  return new Promise((resolve) => {
    const isTls = url.protocol === "https:";
    const { host, ...rest } = headers;
    const sent = { ...rest, connection: "close", ...(host?.[0] ? { host: host[0] } : {}) };
    // The certificate of a pod is its own affair, and no connection is kept for the next check.
    const options = { headers: sent, agent: false as const, signal, rejectUnauthorized: false };
    const request = (isTls ? https : http).get(url, options, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const finish = () => {
        const body = Buffer.concat(chunks).toString().slice(0, maxBodyBytes);
        resolve({ status: response.statusCode ?? 0, location: response.headers.location, body });
      };
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size < maxBodyBytes) return;
        finish();
        response.destroy();
      });
      response.on("end", finish);
      response.on("error", (error) => resolve(error.message));
    });
    request.on("error", (error) => resolve(explain(url, error)));
  });
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
