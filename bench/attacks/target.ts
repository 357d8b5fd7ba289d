import http2 from "node:http2";
import { type Answer, type AttackTarget, type Question } from "./attack.ts";

/** What an attacker's process needs to know about the cluster; sent to it as JSON. */
export interface TargetFacts extends Omit<AttackTarget, "ca" | "ask"> {
  /** The administrator's. */
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };
}

export interface AttackOrder {
  readonly name: string;
  readonly facts: TargetFacts;
  readonly seconds: number;
}

export type AttackerReport =
  | { readonly type: "prepared"; readonly claim: string }
  | { readonly type: "over"; readonly outcome: string; readonly holds: boolean };

type Caller = NonNullable<Question["as"]>;

/** Keeps one connection per caller, and reopens it when the server has closed it. */
export function openTarget(facts: TargetFacts): AttackTarget & Disposable {
  const sessions = new Map<Caller, http2.ClientHttp2Session>();
  const sessionOf = (caller: Caller): http2.ClientHttp2Session => {
    const held = sessions.get(caller);
    if (held && !held.closed && !held.destroyed) return held;
    const { ca, cert, key } = facts.tls;
    const session = http2.connect(facts.url, caller === "admin" ? { ca, cert, key } : { ca });
    session.on("error", () => {}); // The stream of a pending request reports the error.
    sessions.set(caller, session);
    return session;
  };
  const { tls, ...rest } = facts;
  return {
    ...rest,
    ca: tls.ca,
    ask: (question) => ask(sessionOf(question.as ?? "attacker"), question, facts.token),
    [Symbol.dispose]() {
      for (const session of sessions.values()) session.destroy();
    },
  };
}

function ask(session: http2.ClientHttp2Session, question: Question, token: string): Promise<Answer> {
  const { as = "attacker", body, path, type = "application/json" } = question;
  const method = question.method ?? (body === undefined ? "GET" : "POST");
  const stream = session.request(
    {
      ":method": method,
      ":path": path,
      accept: "application/json",
      ...(as === "attacker" ? { authorization: `Bearer ${token}` } : {}),
      ...(body === undefined ? {} : { "content-type": type }),
    },
    { endStream: body === undefined },
  );
  if (body !== undefined) stream.end(bytesOf(body));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let status = 0;
    stream.on("response", (headers) => (status = headers[":status"] ?? 0));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () => {
      if (status === 0) reject(new Error(`${method} ${path}: no answer`));
      else resolve({ status, text: Buffer.concat(chunks).toString() });
    });
  });
}

const bytesOf = (body: unknown): string | Uint8Array =>
  typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
