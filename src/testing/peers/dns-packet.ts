import { createRequire } from "node:module";

/** A record in the form of the package dns-packet. */
export interface PeerRecord {
  readonly name: string;
  readonly type: string;
  readonly ttl?: number;
  readonly data?: unknown;
}
export interface PeerPacket {
  readonly type: "query" | "response";
  readonly id: number;
  readonly rcode?: string;
  readonly questions: readonly { readonly type: string; readonly name: string; readonly class?: string }[];
  readonly answers?: readonly PeerRecord[];
}

/** An independent encoder and decoder of DNS messages, which has no types of its own. */
export const dnsPacket = createRequire(import.meta.url)("dns-packet") as {
  encode(packet: PeerPacket): Buffer;
  decode(bytes: Buffer): PeerPacket;
};
