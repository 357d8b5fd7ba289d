import http2 from "node:http2";
import { type ServerProcess } from "./server-process.ts";

export interface Call {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: Uint8Array;
  readonly type?: string;
}

/** Several HTTP/2 connections to one server, used in turn. */
export class Connections implements Disposable {
  readonly #sessions: http2.ClientHttp2Session[];
  #next = 0;

  constructor({ url, tls }: Pick<ServerProcess, "url" | "tls">, count: number) {
    this.#sessions = Array.from({ length: count }, () => {
      const session = http2.connect(url, { ...tls, settings: { initialWindowSize: 4 << 20 } });
      session.setMaxListeners(0);
      return session;
    });
  }

  /** Resolves with the body. Throws if the request fails. */
  call(call: Call): Promise<Buffer> {
    const stream = this.#open(call);
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let status = 0;
      stream.on("response", (headers) => (status = headers[":status"] ?? 0));
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const body = Buffer.concat(chunks);
        if (status < 300) resolve(body);
        else reject(new Error(`${call.method} ${call.path}: ${status} ${body.toString("utf8", 0, 300)}`));
      });
      stream.on("error", reject);
    });
  }

  /** A streamed answer: `onData` gets its bytes as they arrive. */
  follow(path: string, onData: (chunk: Buffer) => void): void {
    this.#open({ method: "GET", path })
      .on("data", onData)
      .on("error", () => {});
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions) session.destroy();
  }

  #open({ method, path, body, type = "application/json" }: Call): http2.ClientHttp2Stream {
    const session = this.#sessions[this.#next++ % this.#sessions.length];
    if (!session) throw new Error("there is no connection");
    const headers = { ":method": method, ":path": path, accept: "application/json" };
    const stream = session.request(body ? { ...headers, "content-type": type } : headers, { endStream: !body });
    if (body) stream.end(body);
    return stream;
  }
}

export const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
