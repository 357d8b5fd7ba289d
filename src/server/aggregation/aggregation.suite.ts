import { once } from "node:events";
import { type IncomingMessage, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo } from "node:net";
import { APIService } from "#api/apiregistration/api-service.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { findCondition } from "#api/meta/condition.ts";
import { type InputOf } from "#api/resource.ts";
import { isAlreadyExists } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { systemClock } from "#lib/async/clock.ts";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";
import { primaryAddress } from "#lib/net/ip.ts";

/** An address of this machine that a pod could have; "" if there is none. */
export const podIp = primaryAddress() ?? "";

const validity = { notBeforeMs: systemClock.now() - 60_000, notAfterMs: systemClock.now() + 3_600_000 };
const authority = createAuthority({ subject: { commonName: "extensions" }, ...validity });
const other = createAuthority({ subject: { commonName: "somebody else" }, ...validity });
const certificate = createCertificate(authority, {
  subject: { commonName: "extension" },
  use: "server",
  hosts: ["extension.default.svc"],
  ...validity,
});
const base64 = (text: string): string => Buffer.from(text).toString("base64");
export const caBundle = base64(authority.certificate);
export const otherBundle = base64(other.certificate);

export const group = "wardle.example.com";
export const flunders = `/apis/${group}/v1/namespaces/default/flunders`;

export type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** The resource list of a well-behaved server. */
export const resourceList = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: `${group}/v1`,
  resources: [
    {
      name: "flunders",
      singularName: "flunder",
      namespaced: true,
      kind: "Flunder",
      verbs: ["create", "delete", "deletecollection", "get", "list", "watch"],
    },
  ],
};

const describing = ["/apis", `/apis/${group}/v1`, "/openapi/v2", "/openapi/v3", `/openapi/v3/apis/${group}/v1`];

/** An extension server that describes itself properly; `serve` answers everything else. */
export async function startExtension(serve: Serve, describe: Serve = wellDescribed) {
  const { key, certificate: cert } = certificate;
  const server = createServer({ key, cert, requestCert: true, rejectUnauthorized: false }, (request, response) => {
    if (describing.includes(request.url ?? "")) describe(request, response);
    else serve(request, response);
  });
  server.on("tlsClientError", () => undefined);
  server.listen(0, podIp);
  await once(server, "listening");
  return {
    server,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Describes its own kind, and a core kind that is none of its business. */
const openApiV2 = {
  swagger: "2.0",
  paths: {
    [`/apis/${group}/v1/flunders`]: {
      get: { responses: { 200: { description: "OK", schema: { $ref: "#/definitions/wardle.Flunder" } } } },
    },
    "/api/v1/pods": { get: { description: "theirs" } },
  },
  definitions: {
    "wardle.Flunder": {
      description: "theirs",
      type: "object",
      properties: { metadata: { $ref: "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" } },
      "x-kubernetes-group-version-kind": [
        { group, version: "v1", kind: "Flunder" },
        { group: "", version: "v1", kind: "Pod" },
      ],
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": { description: "theirs", type: "object" },
    "wardle.Unused": { type: "object" },
  },
};

const documents: Readonly<Record<string, unknown>> = {
  [`/apis/${group}/v1`]: resourceList,
  "/openapi/v2": openApiV2,
  "/openapi/v3": { paths: { [`apis/${group}/v1`]: { serverRelativeURL: `/openapi/v3/apis/${group}/v1?hash=AB` } } },
  [`/openapi/v3/apis/${group}/v1`]: { openapi: "3.0.0" },
};

export function wellDescribed({ url = "" }: IncomingMessage, response: ServerResponse): void {
  const document = documents[url];
  if (document === undefined) response.writeHead(404).end();
  else response.setHeader("content-type", "application/json").end(JSON.stringify(document));
}

export type Spec = Partial<InputOf<APIService>["spec"]>;

/** Makes a port of this machine a service, and an APIService of it. */
export async function register(client: Client, port: number, spec: Spec = {}): Promise<void> {
  const at = { namespace: "default", name: "extension" };
  await ensure(client.create(Namespace, { metadata: { name: "default" } }));
  await ensure(client.create(ServiceAccount, { metadata: { namespace: "default", name: "default" } }));
  await client.create(Service, { metadata: at, spec: { ports: [{ port: 443 }] } });
  await client.create(Pod, { metadata: at, spec: { containers: [{ name: "c", image: "i" }] } });
  const body = { status: { podIP: podIp, podIPs: [{ ip: podIp }] } };
  await client.patch(Pod, at, { type: "merge", body }, { subresource: "status" });
  await client.create(EndpointSlice, {
    metadata: { ...at, labels: { "kubernetes.io/service-name": "extension" } },
    addressType: "IPv4",
    ports: [{ name: "", port }],
    endpoints: [{ addresses: [podIp], targetRef: { kind: "Pod", ...at } }],
  });
  await client.create(APIService, apiService(spec));
}

export const apiService = (spec: Spec = {}): InputOf<APIService> => {
  const { version = "v1", group: of = group } = spec;
  const service = { namespace: "default", name: "extension" };
  const priorities = { groupPriorityMinimum: 2000, versionPriority: 200 };
  const trust = spec.insecureSkipTLSVerify ? {} : { caBundle };
  return {
    metadata: { name: `${version}.${of}` },
    spec: { group: of, version, service, ...priorities, ...trust, ...spec },
  };
};

async function ensure(creating: Promise<unknown>): Promise<void> {
  await creating.catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

/** Waits until the condition Available has this reason. Returns its message. */
export async function untilReason(client: Client, reason: string, name = `v1.${group}`): Promise<string> {
  for (;;) {
    const { status } = await client.get(APIService, { name });
    const available = findCondition(status.conditions, "Available");
    if (available?.reason === reason) return available.message ?? "";
    await systemClock.sleep(20);
  }
}
