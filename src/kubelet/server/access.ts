import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { TokenReview } from "#api/authentication/token-review.ts";
import { SubjectAccessReview } from "#api/authorization/subject-access-review.ts";
import { StatusError, unauthorized } from "#api/status.ts";
import { verbOfMethod } from "#api/verb.ts";
import type { Client } from "#client/client.ts";
import type { Clock } from "#lib/async/clock.ts";
import { notAfterMs, readSubject } from "#lib/crypto/x509.ts";

/** Throws a StatusError if the client may not make this request. */
export type Access = (request: IncomingMessage, route: string) => void | Promise<void>;

/** The API server's name in its client certificate for kubelets. */
export const apiServerName = "kube-apiserver-kubelet-client";

/**
 * The API server and administrators may do everything, by their certificates. Others, such as a metrics server, send a
 * token, and the API server decides who they are and what they may do.
 */
export function nodeAccess(nodeName: string, clock: Clock, client?: Client): Access {
  const reviewed = new Map<string, number>();
  return async (request, route) => {
    const socket = request.socket;
    const certificate = socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined;
    // It was valid when the connection began, which may be long ago.
    if (certificate && notAfterMs(certificate) > clock.now()) {
      const { commonName, organizations } = readSubject(certificate);
      if (commonName === apiServerName || organizations.includes("system:masters")) return;
    }
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? "")?.[1];
    if (!token || !client) throw unauthorized();
    const attributes = { ...attributesOf(request.method ?? "GET", route), group: "", name: nodeName };
    const key = `${attributes.verb} ${attributes.subresource} ${token}`;
    if ((reviewed.get(key) ?? 0) > clock.now()) return;
    await review(client, token, attributes);
    if (reviewed.size >= maxReviewed) reviewed.clear();
    reviewed.set(key, clock.now() + reviewedForMs);
  };
}

const reviewedForMs = 60_000;
const maxReviewed = 1000;

interface Attributes {
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly group: string;
  readonly name: string;
}

async function review(client: Client, token: string, attributes: Attributes): Promise<void> {
  const { status } = await client.create(TokenReview, { metadata: {}, spec: { token } });
  if (!status.authenticated) throw unauthorized();
  const { username: user = "", uid = "", groups = [], extra = {} } = status.user;
  const answer = await client.create(SubjectAccessReview, {
    metadata: {},
    spec: { user, uid, groups, extra, resourceAttributes: attributes },
  });
  if (answer.status.allowed) return;
  const { verb, resource, subresource, name } = attributes;
  throw new StatusError(
    "Forbidden",
    `Forbidden (user=${user}, verb=${verb}, resource=${resource}, subresource(s)=[${subresource}], name=${name})`,
  );
}

const subresources: Readonly<Record<string, string>> = {
  stats: "stats",
  metrics: "metrics",
  logs: "log",
  healthz: "healthz",
  pods: "pods",
};

/** Upstream's attributes for access to a kubelet's server. */
const attributesOf = (method: string, route: string) => ({
  verb: verbOfMethod(method) ?? "get",
  resource: "nodes",
  subresource: subresources[route] ?? "proxy",
});
