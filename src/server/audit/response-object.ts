import { type Encoded } from "#api/exchange.ts";
import { apiVersionOf } from "#api/resource.ts";
import { type Wire } from "../http/respond.ts";
import { type Answer, type Context } from "../request/pipeline.ts";
import type { RequestAudit } from "./request-audit.ts";

interface Response {
  readonly answer: Answer;
  /** How it is sent; undefined for callers in this process. */
  readonly wire?: Extract<Wire, { type: "body" }>;
  readonly context: Context;
}

/** Longer responses are not recorded: to build one text of them would delay everybody else. */
const maxBytes = 4 << 20;

/** The response as JSON. What is sent as JSON is taken as it is; other encodings are written once more. */
export function responseObject(audit: RequestAudit, { answer, wire, context }: Response): string | undefined {
  const response = answer.type === "deferred" ? audit.readLater : answer;
  if (!response || (response.type !== "object" && response.type !== "list" && response.type !== "value"))
    return undefined;
  const chunks = wire?.contentType === "application/json" && !audit.scope.omitManagedFields ? wire.chunks : undefined;
  const bytes = chunks ? sizeOf(chunks) : storedSize(response);
  if (bytes > maxBytes) {
    context.annotations.set("audit.k8s.io/truncated", "true");
    return undefined;
  }
  if (chunks) return Buffer.concat(chunks).toString("utf8").trimEnd();
  const plain = (encoded: Encoded): object => audit.bodyOf(encoded.object);
  if (response.type === "object") return JSON.stringify(plain(response.encoded));
  if (response.type === "value") return JSON.stringify(response.value);
  const { resource, items, list } = response;
  const metadata = { resourceVersion: list.resourceVersion, continue: list.continue || undefined };
  return JSON.stringify({
    kind: resource.listKind,
    apiVersion: apiVersionOf(resource),
    metadata: { ...metadata, remainingItemCount: list.remainingItemCount },
    items: items.map(plain),
  });
}

const sizeOf = (chunks: readonly Uint8Array[]): number => chunks.reduce((sum, { length }) => sum + length, 0);

function storedSize(response: NonNullable<RequestAudit["readLater"]> | Answer): number {
  if (response.type === "object") return response.encoded.storedBytes;
  return response.type === "list" ? response.items.reduce((sum, { storedBytes }) => sum + storedBytes, 0) : 0;
}
