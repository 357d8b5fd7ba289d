import http2 from "node:http2";
import { loadKubeconfig, resolveContext } from "#client/kubeconfig/kubeconfig.ts";
import { type Answer, type Step } from "./step.ts";

/** A connection to one of the two servers. */
export class Session implements Disposable {
  readonly #http: http2.ClientHttp2Session;
  readonly #auth: Readonly<Record<string, string>>;

  private constructor(http: http2.ClientHttp2Session, auth: Readonly<Record<string, string>>) {
    this.#http = http;
    this.#auth = auth;
  }

  static async open(kubeconfig: string): Promise<Session> {
    const { config } = await resolveContext(await loadKubeconfig({ path: kubeconfig, env: {} }));
    const { ca, cert, key } = config.tls ?? {};
    const http = http2.connect(config.server, { ca, cert, key, settings: { initialWindowSize: 4 << 20 } });
    http.setMaxListeners(0);
    const token = config.auth?.token;
    return new Session(http, token ? { authorization: `Bearer ${token}` } : {});
  }

  /** `known` has the server's own answers to earlier steps of the script. */
  async send(step: Step, known: ReadonlyMap<string, Known>): Promise<Answer> {
    const body = bytesOf(step, known);
    const stream = this.#http.request(
      {
        ":method": step.method,
        ":path": fillIn(step.path, known),
        accept: step.accept ?? "application/json",
        ...(body ? { "content-type": step.type ?? "application/json" } : {}),
        ...this.#auth,
        ...step.headers,
      },
      { endStream: !body },
    );
    if (body) stream.end(body);
    return await read(stream, step.forMs);
  }

  [Symbol.dispose](): void {
    this.#http.destroy();
  }
}

async function read(stream: http2.ClientHttp2Stream, forMs: number | undefined): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const chunks: Buffer[] = [];
  let headers: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader = {};
  stream.on("response", (received) => (headers = received));
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", resolve);
  // A server that breaks off has answered nothing, which shows as code 0.
  stream.on("error", () => resolve());
  const timer = forMs === undefined ? undefined : setTimeout(() => stream.close(http2.constants.NGHTTP2_CANCEL), forMs);
  stream.on("close", resolve);
  await promise;
  clearTimeout(timer);
  return {
    code: headers[":status"] ?? 0,
    type: headers["content-type"] ?? "",
    warnings: splitWarnings(headers.warning as string | undefined),
    allow: (headers.allow as string | undefined) ?? "",
    body: Buffer.concat(chunks),
  };
}

/** Node joins headers of the same name with commas, and a warning may itself contain one. */
const splitWarnings = (header: string | undefined): string[] => header?.split(/, (?=299 - ")/) ?? [];

/** What a server has said about an object. */
export interface Known {
  readonly rv: string;
  readonly uid: string;
  readonly continue: string;
}

export function knownFrom({ body }: Answer): Known {
  const { metadata = {} } = parse(body) as { metadata?: { resourceVersion?: string; uid?: string; continue?: string } };
  return { rv: metadata.resourceVersion ?? "", uid: metadata.uid ?? "", continue: metadata.continue ?? "" };
}

function parse(body: Buffer): object {
  try {
    return JSON.parse(body.toString()) as object;
  } catch {
    return {};
  }
}

function bytesOf({ body }: Step, known: ReadonlyMap<string, Known>): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  return Buffer.from(fillIn(typeof body === "string" ? body : JSON.stringify(body), known));
}

const fillIn = (text: string, known: ReadonlyMap<string, Known>): string =>
  text.replace(/@(rv|uid|continue):([^@]+)@/g, (_, what: keyof Known, step: string) => known.get(step)?.[what] ?? "");
