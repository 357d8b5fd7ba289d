import { createRequire } from "node:module";

/** A record as the package dns-packet has it. */
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

/** Somebody else's encoder and decoder of DNS messages, which comes without types. */
export const dnsPacket = createRequire(import.meta.url)("dns-packet") as {
  encode(packet: PeerPacket): Buffer;
  decode(bytes: Buffer): PeerPacket;
};
