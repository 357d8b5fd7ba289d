import { nodeServicesGroup } from "#api/well-known.ts";
import { type Subject } from "#lib/crypto/x509.ts";

/** The group of the tokens by which machines join; kubeadm's, so that its tokens work too. */
export const joinTokenGroup = "system:bootstrappers:kubeadm:default-node-token";

export const kubeletSubject = (nodeName: string): Subject => ({
  commonName: `system:node:${nodeName}`,
  organizations: ["system:nodes"],
});

export const nodeServicesSubject = (nodeName: string): Subject => ({
  commonName: `${nodeServicesGroup}:${nodeName}`,
  organizations: [nodeServicesGroup],
});
