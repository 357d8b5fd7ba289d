import { type Tree } from "./samples/sample.ts";

/**
 * One request, the same for both servers. `@rv:NAME@`, `@uid:NAME@` and `@continue:NAME@` in its path or body stand for
 * what the server itself answered to the step of that name in the same script.
 */
export interface Step {
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD";
  readonly path: string;
  readonly body?: Tree | string | Uint8Array;
  readonly type?: string;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A watch never ends by itself: its answer is what came within this time. */
  readonly forMs?: number;
}

/** Requests that belong together. Scripts may run at the same time. */
export interface Script {
  readonly name: string;
  /** Sent in order. */
  readonly steps: readonly Step[];
  /** Sent after the others, in any order: none of them changes anything. */
  readonly readOnly?: readonly Step[];
  /** Sent in order at the end. */
  readonly after?: readonly Step[];
}

export interface Answer {
  readonly code: number;
  readonly type: string;
  readonly warnings: readonly string[];
  readonly allow: string;
  readonly body: Buffer;
}
