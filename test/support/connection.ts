import assert from "node:assert/strict";
import http2 from "node:http2";
import { credentialsOf, type RunningServer } from "./server.ts";

export interface Reply {
  readonly status: number;
  readonly body: string;
}

/** A separate HTTP/2 connection to the server. */
export class Connection implements AsyncDisposable {
  readonly #session: http2.ClientHttp2Session;

  constructor(server: RunningServer) {
    this.#session = http2.connect(server.url, credentialsOf(server));
    this.#session.on("error", () => {});
  }

  /** Undefined if there was no answer. */
  ask(method: string, url: string, body?: string): Promise<Reply | undefined> {
    const { promise, resolve } = Promise.withResolvers<Reply | undefined>();
    if (this.#session.destroyed || this.#session.closed) return Promise.resolve(undefined);
    const headers = { ":method": method, ":path": url, "content-type": "application/json" };
    const stream = this.#session.request(headers, { endStream: body === undefined });
    const chunks: Buffer[] = [];
    let status = 0;
    stream.on("response", (answer) => (status = Number(answer[":status"])));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => resolve(status ? { status, body: Buffer.concat(chunks).toString() } : undefined));
    stream.on("error", () => resolve(undefined));
    stream.on("close", () => resolve(undefined));
    if (body !== undefined) stream.end(body);
    return promise;
  }

  async sure(method: string, url: string, body?: string): Promise<Reply> {
    const reply = await this.ask(method, url, body);
    assert(reply, `${method} ${url} was not answered`);
    return reply;
  }

  /** Lines as they arrive, until the server ends the watch. */
  watch(url: string): { readonly lines: string[]; readonly ended: Promise<number> } {
    const stream = this.#session.request({ ":method": "GET", ":path": url });
    const lines: string[] = [];
    let rest = "";
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      lines.push(...parts);
    });
    stream.on("error", () => {});
    return { lines, ended: new Promise((resolve) => stream.on("close", () => resolve(stream.rstCode ?? 0))) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#session.destroy();
  }
}
