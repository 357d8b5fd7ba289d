import { parseIPv4, parseIPv6 } from "#lib/net/ip.ts";

/** The record types that are decoded here; others pass through as bytes. */
export const recordTypes = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  HINFO: 13,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  ANY: 255,
} as const;

export const rcodes = {
  noError: 0,
  formatError: 1,
  serverFailure: 2,
  noSuchName: 3,
  notImplemented: 4,
  refused: 5,
} as const;
export type Rcode = (typeof rcodes)[keyof typeof rcodes];

/** Names have no trailing dot. A dot or backslash within a label is escaped with a backslash. */
export type RecordData =
  | { readonly type: "A"; readonly address: string }
  | { readonly type: "AAAA"; readonly address: string }
  | { readonly type: "CNAME" | "PTR" | "NS"; readonly target: string }
  | {
      readonly type: "SRV";
      readonly priority: number;
      readonly weight: number;
      readonly port: number;
      readonly target: string;
    }
  | { readonly type: "TXT"; readonly texts: readonly string[] }
  | ({ readonly type: "SOA" } & StartOfAuthority);

export interface StartOfAuthority {
  readonly primary: string;
  readonly admin: string;
  readonly serial: number;
  readonly refresh: number;
  readonly retry: number;
  readonly expire: number;
  readonly minimum: number;
}

export interface DnsRecord {
  readonly name: string;
  readonly ttl: number;
  readonly data: RecordData;
}

export interface Question {
  /** As asked, with its case preserved. */
  readonly name: string;
  readonly type: number;
  readonly class: number;
}

export interface Query {
  readonly id: number;
  readonly opcode: number;
  readonly isResponse: boolean;
  readonly recursionDesired: boolean;
  readonly checkingDisabled: boolean;
  /** Undefined unless there is exactly one. */
  readonly question: Question | undefined;
  readonly edns: Edns | undefined;
}

export interface Edns {
  /** The largest datagram that the client accepts. */
  readonly sizeBytes: number;
  readonly version: number;
  readonly dnssec: boolean;
}

/** The A or AAAA record data of an address. */
export function addressData(address: string): RecordData | undefined {
  if (parseIPv4(address) !== undefined) return { type: "A", address };
  return parseIPv6(address) ? { type: "AAAA", address } : undefined;
}

/** The bytes are not a valid DNS message, or a message cannot be encoded. */
export class WireError extends Error {
  override readonly name = "WireError";
}

export const headerBytes = 12;
/** The largest datagram that is sent; it fits the usual links without fragmentation. */
export const datagramBytes = 1232;
export const messageBytes = 65_535;
/** Longer than any question with its options. */
export const queryBytes = 4_096;
