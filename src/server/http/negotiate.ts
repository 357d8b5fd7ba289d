import { notAcceptable } from "#api/status.ts";
import { BoundedCache } from "#lib/data/bounded-cache.ts";

/** How an answer is to be written. */
export interface Negotiated {
  readonly encoding: "json" | "yaml" | "protobuf";
  /** A transformation asked for with `as=`. */
  readonly as: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList" | undefined;
  /** An answer that cannot be transformed will do as it is. */
  readonly plainToo: boolean;
  /** `;as=APIGroupDiscoveryList;v=v2`, for discovery. */
  readonly discovery: string | undefined;
}

const plain: Negotiated = { encoding: "json", as: undefined, plainToo: true, discovery: undefined };

const encodings: Readonly<Record<string, Negotiated["encoding"]>> = {
  "application/json": "json",
  "application/yaml": "yaml",
  "application/vnd.kubernetes.protobuf": "protobuf",
  "application/*": "json",
  "*/*": "json",
};
const encodingOf = (type: string) => (Object.hasOwn(encodings, type) ? encodings[type] : undefined);
const transformations = ["Table", "PartialObjectMetadata", "PartialObjectMetadataList"] as const;

/** Clients send few different headers, and always the same. */
const seen = new BoundedCache<Negotiated>({ entries: 500, chars: 64 * 1024, keyChars: 512 });

export function negotiate(accept: string | undefined): Negotiated {
  if (!accept) return plain;
  let found = seen.get(accept);
  if (!found) {
    found = choose(accept);
    seen.set(accept, found);
  }
  return found;
}

/** The first alternative that can be served; clients list what they like best first. */
function choose(accept: string): Negotiated {
  const alternatives = accept.split(",").map(parseAlternative);
  const plainToo = alternatives.some(({ type, parameters }) => encodingOf(type) && !parameters.has("as"));
  for (const { type, parameters } of alternatives.sort((a, b) => b.quality - a.quality)) {
    const encoding = encodingOf(type);
    if (!encoding) continue;
    const as = parameters.get("as");
    if (as === undefined) return { encoding, as: undefined, plainToo, discovery: undefined };
    const group = parameters.get("g");
    if (group === "apidiscovery.k8s.io") return { encoding, as: undefined, plainToo, discovery: parameters.get("v") };
    const known = transformations.find((name) => name === as);
    if (known && group === "meta.k8s.io" && isServed(known, encoding, parameters.get("v"))) {
      return { encoding, as: known, plainToo, discovery: undefined };
    }
  }
  throw notAcceptable(
    "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
  );
}

const isServed = (as: string, encoding: string, version: string | undefined): boolean =>
  version === "v1" && (as !== "Table" || encoding !== "protobuf");

function parseAlternative(text: string): { type: string; quality: number; parameters: Map<string, string> } {
  const [type = "", ...rest] = text.split(";").map((part) => part.trim());
  const parameters = new Map(rest.map((part) => [part.split("=", 1)[0] ?? "", part.slice(part.indexOf("=") + 1)]));
  const quality = Number(parameters.get("q") ?? "1");
  return { type: type.toLowerCase(), quality: Number.isFinite(quality) ? quality : 1, parameters };
}
