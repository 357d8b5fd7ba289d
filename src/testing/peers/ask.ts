import { type UserInfo } from "#api/exchange.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { type ApiServer, type Served } from "#server/server.ts";

export interface Ask {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: UserInfo;
}

/** What a remote client would get, without the network. */
export interface Said {
  readonly status: number;
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  readonly json: Loose;
  /** The items of a list. */
  readonly items: readonly Loose[];
}

/** Any answer: `json.metadata?.name`. */
export interface Loose {
  readonly [name: string]: Loose | undefined;
}

const administrator: UserInfo = { name: "admin", groups: ["system:masters", "system:authenticated"] };

/** Sends one request through all checks, and returns the answer's bytes: `ask(server, "GET /api/v1/pods?limit=1")`. */
export async function ask(server: ApiServer, line: string, options: Ask = {}): Promise<Said> {
  const { wire, headers, warnings } = await serve(server, line, options);
  if (wire.type !== "body") throw new Error(`${line} was answered with a ${wire.type}`);
  const bytes = Buffer.concat(wire.chunks);
  const isJson = wire.contentType.startsWith("application/json");
  const json = (isJson ? JSON.parse(bytes.toString()) : {}) as Loose;
  const items = (json.items ?? []) as unknown as readonly Loose[];
  return { status: wire.status, bytes, headers, warnings, json, items };
}

/** Follows a watch; `lines` holds what has arrived so far. */
export async function follow(server: ApiServer, line: string, options: Ask = {}): Promise<Followed> {
  const { wire } = await serve(server, line, options);
  if (wire.type !== "watch") throw new Error(`${line} was answered with a ${wire.type}`);
  const chunks: Uint8Array[] = [];
  const followed = { isOver: false };
  const end = () => {
    followed.isOver = true;
  };
  const stop = wire.start({ write: (bytes) => void chunks.push(bytes), load: "idle", onIdle: (wake) => wake(), end });
  return {
    get bytes() {
      return Buffer.concat(chunks);
    },
    get events() {
      return parseLines(Buffer.concat(chunks).toString());
    },
    get isOver() {
      return followed.isOver;
    },
    contentType: wire.contentType,
    stop,
  };
}

export interface Followed {
  readonly bytes: Uint8Array;
  readonly events: readonly { readonly type: string; readonly object: Loose }[];
  readonly isOver: boolean;
  readonly contentType: string;
  stop(): void;
}

const parseLines = (text: string): Followed["events"] => text.split("\n").filter(Boolean).map(parse);
const parse = (line: string): Followed["events"][number] => JSON.parse(line) as Followed["events"][number];

async function serve(server: ApiServer, line: string, options: Ask): Promise<Served> {
  const [method = "", url = ""] = line.split(" ");
  const [path = "", query = ""] = url.split("?");
  const { body, user = administrator } = options;
  const type = body === undefined ? {} : { "content-type": "application/json" };
  return await server.serve({
    method,
    path,
    query,
    headers: { ...type, ...options.headers },
    body: bytesOf(body),
    signal: neverAborted,
    peer: { address: "127.0.0.1", user },
  });
}

function bytesOf(body: unknown): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}
