import { once } from "node:events";
import { type IncomingMessage, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo } from "node:net";
import { MutatingWebhookConfiguration } from "#api/admissionregistration/mutating-webhook-configuration.ts";
import { ValidatingWebhookConfiguration } from "#api/admissionregistration/validating-webhook-configuration.ts";
import { type InputOf } from "#api/resource.ts";
import { systemClock } from "#lib/async/clock.ts";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";

const validity = { notBeforeMs: systemClock.now() - 60_000, notAfterMs: systemClock.now() + 3_600_000 };
const authority = createAuthority({ subject: { commonName: "webhooks" }, ...validity });
const other = createAuthority({ subject: { commonName: "somebody else" }, ...validity });
const certificate = createCertificate(authority, {
  subject: { commonName: "webhook" },
  use: "server",
  hosts: ["127.0.0.1", "guard.default.svc"],
  ...validity,
});
const base64 = (text: string): string => Buffer.from(text).toString("base64");
export const caBundle = base64(authority.certificate);
export const otherBundle = base64(other.certificate);

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects in a document
export type Review = any;
type Answer = Readonly<Record<string, unknown>>;
export type Serve = (
  review: Review,
  path: string,
  raw: { request: IncomingMessage; response: ServerResponse },
) => Answer | undefined;

/** A server of webhooks: returns the response of a review, or undefined if it has answered itself. */
export async function startWebhooks(serve: Serve, host = "127.0.0.1") {
  const server = createServer({ key: certificate.key, cert: certificate.certificate }, (request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      const review = JSON.parse(body) as Review;
      const answer = serve(review, request.url ?? "", { request, response });
      if (!answer) return;
      const { apiVersion, kind, request: asked } = review;
      response.end(JSON.stringify({ apiVersion, kind, response: { uid: asked.uid, allowed: true, ...answer } }));
    });
  });
  let connections = 0;
  server.on("secureConnection", () => connections++);
  server.listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    connections: () => connections,
    url: (path: string) => `https://${host}:${port}/${path}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export const patchOf = (...operations: object[]) => ({
  patchType: "JSONPatch",
  patch: base64(JSON.stringify(operations)),
});

type Hook = NonNullable<InputOf<MutatingWebhookConfiguration>["webhooks"]>[number];

/** A webhook for new and changed config maps. */
export const hookAt = (url: string, part: Partial<Hook> = {}): Hook => ({
  name: "guard.example.com",
  clientConfig: { url, caBundle },
  rules: [{ operations: ["CREATE", "UPDATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  ...part,
});

export const validating = (name: string, ...webhooks: Hook[]): InputOf<ValidatingWebhookConfiguration> => ({
  metadata: { name },
  webhooks: webhooks.map(({ reinvocationPolicy: _never, ...hook }) => hook),
});
export const mutating = (name: string, ...webhooks: Hook[]): InputOf<MutatingWebhookConfiguration> => ({
  metadata: { name },
  webhooks,
});
