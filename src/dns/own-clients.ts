import { BlockList, isIPv6 } from "node:net";
import { type Clock } from "#lib/async/clock.ts";

export interface OwnClientsDeps {
  readonly clock: Clock;
  /** The ranges of pods. */
  readonly podCidrs: readonly string[];
  /** The machine's current addresses. */
  ownAddresses(): readonly string[];
  /** Whether this is the address of a node, which a pod there has when it calls from another machine. */
  isNode?(address: string): boolean;
}

/** A look at the ranges takes as long as many an answer. */
const rememberedClients = 4_096;
/** The machine's addresses may change, but unknown clients must not cause a lookup each time. */
const refreshMs = 10_000;

/** Whether an address is a pod's, the machine's own or a node's. The cluster's DNS serves nobody else. */
export function ownClients({ clock, podCidrs, ownAddresses, isNode }: OwnClientsDeps): (address: string) => boolean {
  const pods = new BlockList();
  for (const cidr of podCidrs) {
    const [base = "", bits = ""] = cidr.split("/");
    pods.addSubnet(base, Number(bits), familyOf(base));
  }
  pods.addSubnet("127.0.0.0", 8, "ipv4");
  pods.addAddress("::1", "ipv6");
  const inRanges = new Set<string>();
  const isInRange = (address: string): boolean => {
    if (inRanges.has(address)) return true;
    if (!pods.check(address, familyOf(address))) return false;
    if (inRanges.size >= rememberedClients) inRanges.clear();
    inRanges.add(address);
    return true;
  };
  let own = new Set<string>();
  let readMs = Number.NEGATIVE_INFINITY;
  return (text) => {
    const address = text.startsWith("::ffff:") ? text.slice("::ffff:".length) : text;
    if (isInRange(address) || own.has(address) || isNode?.(address)) return true;
    if (clock.now() - readMs < refreshMs) return false;
    readMs = clock.now();
    own = new Set(ownAddresses());
    return own.has(address);
  };
}

const familyOf = (address: string): "ipv4" | "ipv6" => (isIPv6(address) ? "ipv6" : "ipv4");
