import assert from "node:assert/strict";
import { test } from "node:test";
import { TokenRequest } from "#api/authentication/token-request.ts";
import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type ApiObject } from "#api/resource.ts";
import { der } from "#lib/crypto/der.ts";
import { pemOf } from "#lib/crypto/x509.ts";
import { nodeA, podWith, requestFor, setUp } from "./admission.suite.ts";
import { type AdmissionRequest } from "./plugin.ts";

const nodeCases: { name: string; request: AdmissionRequest; refused?: string }[] = [
  { name: "register itself", request: requestFor(Node, { metadata: { name: "a" }, spec: {} }) },
  {
    name: "register another node",
    request: requestFor(Node, { metadata: { name: "b" }, spec: {} }),
    refused: 'nodes "b" is forbidden: node "a" is not allowed to modify node "b"',
  },
  {
    name: "set labels that attract pods",
    request: requestFor(Node, {
      metadata: {
        name: "a",
        labels: { "kubernetes.io/os": "linux", "node-restriction.kubernetes.io/x": "y", "k8s.io/z": "" },
      },
      spec: {},
    }),
    refused:
      'nodes "a" is forbidden: node "a" is not allowed to set the following labels: k8s.io/z, node-restriction.kubernetes.io/x',
  },
  {
    name: "remove its taints",
    request: requestFor(
      Node,
      { metadata: { name: "a" }, spec: {} },
      {
        operation: "UPDATE",
        oldObject: { metadata: { name: "a" }, spec: { taints: [{ key: "x", effect: "NoSchedule" }] } } as ApiObject,
      },
    ),
    refused: 'nodes "a" is forbidden: node "a" is not allowed to modify taints',
  },
  {
    name: "create an ordinary pod",
    request: requestFor(Pod, podWith({ nodeName: "a" })),
    refused:
      'pods "web" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "a" can only create mirror pods',
  },
  {
    name: "create its mirror pod",
    request: requestFor(
      Pod,
      podWith(
        { nodeName: "a" },
        {
          annotations: { "kubernetes.io/config.mirror": "x" },
          ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "a", uid: "node-1", controller: true }],
        },
      ),
    ),
  },
  {
    name: "create a mirror pod without an owner",
    request: requestFor(Pod, podWith({ nodeName: "a" }, { annotations: { "kubernetes.io/config.mirror": "x" } })),
    refused: 'pods "web" is forbidden: node "a" can only create pods with an owner reference set to itself',
  },
  {
    name: "delete a pod of another node",
    request: requestFor(Pod, undefined, { operation: "DELETE", name: "theirs" }),
    refused: 'pods "theirs" is forbidden: node "a" can only delete pods with spec.nodeName set to itself',
  },
  { name: "delete its pod", request: requestFor(Pod, undefined, { operation: "DELETE", name: "mine" }) },
  {
    name: "get an unbound token",
    request: requestFor(ServiceAccount, undefined, {
      name: "default",
      subresource: "token",
      object: { kind: "TokenRequest", metadata: {}, spec: { audiences: [] } } as ApiObject,
    }),
    refused: 'serviceaccounts "default" is forbidden: node requested token not bound to a pod',
  },
];
for (const { name, request, refused } of nodeCases) {
  test(`a node ${refused ? "may not" : "may"} ${name}`, async () => {
    const { admit, informers } = setUp();
    informers.put(Pod, { metadata: { name: "mine", namespace: "shop" }, spec: { containers: [], nodeName: "a" } });
    informers.put(Pod, { metadata: { name: "theirs", namespace: "shop" }, spec: { containers: [], nodeName: "b" } });
    const admitted = admit({ ...request, user: nodeA });

    if (refused) await assert.rejects(admitted, { code: 403, message: refused });
    else await admitted;
  });
}

test("a node gets tokens only for the audiences of its pods' volumes", async () => {
  const { admit, informers } = setUp();
  const sources = [{ serviceAccountToken: { path: "t", audience: "vault" } }];
  const pod = informers.put(Pod, {
    metadata: { name: "mine", namespace: "shop", uid: "pod-1" },
    spec: { containers: [], nodeName: "a", volumes: [{ name: "v", projected: { sources } }] },
  });
  const ask = (audience: string) =>
    admit(
      requestFor(ServiceAccount, undefined, {
        name: "default",
        subresource: "token",
        user: nodeA,
        object: {
          kind: TokenRequest.kind,
          metadata: {},
          spec: {
            audiences: [audience],
            boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "mine", uid: pod.metadata.uid },
          },
        } as ApiObject,
      }),
    );

  await ask("vault");
  await assert.rejects(ask("bank"), {
    message:
      'serviceaccounts "default" is forbidden: audience "bank" not found in pod spec volume, system:node:a is not authorized to request tokens for this audience',
  });
});

/** As much of a request as says which node it is for. */
function requestOf(node: string): string {
  const name = der.set(der.sequence(der.objectId("2.5.4.3"), der.utf8(`system:node:${node}`)));
  const info = der.sequence(der.integer(Buffer.from([0])), der.sequence(name));
  return pemOf("CERTIFICATE REQUEST", der.sequence(info));
}

test("a node may not hide the request for another node behind a block that only it reads", async () => {
  const signerName = "kubernetes.io/kubelet-serving";
  const send = (pem: string): Promise<unknown> => {
    const spec = { request: Buffer.from(pem).toString("base64"), signerName, usages: ["server auth"] };
    const request = requestFor(CertificateSigningRequest, { metadata: { name: "a" }, spec });
    return setUp().admit({ ...request, user: nodeA });
  };
  // As UTF-8 this is a space at the end of a line. Those who read bytes see another line, which begins no block.
  const hidden = requestOf("a").replaceAll("-----\n", "-----\u00a0\n");

  await send(requestOf("a"));
  await assert.rejects(send(hidden + requestOf("b")), /can only create a node CSR with CN=system:node:a/);
});
