import { notAcceptable } from "#api/status.ts";
import { BoundedCache } from "#lib/data/bounded-cache.ts";
import { type MetaVersion } from "#server/request/table.ts";

/** The format of a response. */
export interface Negotiated {
  readonly encoding: "json" | "yaml" | "protobuf";
  /** The transformation requested with `as=`. */
  readonly as: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList" | undefined;
  /** The version in which its result is written. */
  readonly asVersion: MetaVersion;
  /** A response that cannot be transformed is acceptable as it is. */
  readonly plainToo: boolean;
  /** `;as=APIGroupDiscoveryList;v=v2`, for discovery. */
  readonly discovery: string | undefined;
}

const plain: Negotiated = {
  encoding: "json",
  as: undefined,
  asVersion: "meta.k8s.io/v1",
  plainToo: true,
  discovery: undefined,
};

const encodings: Readonly<Record<string, Negotiated["encoding"]>> = {
  "application/json": "json",
  "application/yaml": "yaml",
  "application/vnd.kubernetes.protobuf": "protobuf",
  "application/*": "json",
  "*/*": "json",
};
const encodingOf = (type: string) => (Object.hasOwn(encodings, type) ? encodings[type] : undefined);
const transformations = ["Table", "PartialObjectMetadata", "PartialObjectMetadataList"] as const;
/** They have the same fields. */
const metaVersions: readonly MetaVersion[] = ["meta.k8s.io/v1", "meta.k8s.io/v1beta1"];

/** Clients send few different headers, and always the same ones. */
const limits = { entries: 500, chars: 64 * 1024, keyChars: 512 };
const seen = new BoundedCache<Negotiated>(limits);
const seenForJson = new BoundedCache<Negotiated>(limits);

/** `jsonOnly`: objects of the kind have no protobuf form. */
export function negotiate(accept: string | undefined, { jsonOnly = false } = {}): Negotiated {
  if (!accept) return plain;
  const cache = jsonOnly ? seenForJson : seen;
  let found = cache.get(accept);
  if (!found) {
    found = choose(accept, jsonOnly);
    cache.set(accept, found);
  }
  return found;
}

/** The first alternative that we support; clients list them in order of preference. */
function choose(accept: string, jsonOnly: boolean): Negotiated {
  const alternatives = accept.split(",").map(parseAlternative);
  const plainToo = alternatives.some(({ type, parameters }) => encodingOf(type) && !parameters.has("as"));
  for (const { type, parameters } of alternatives.sort((a, b) => b.quality - a.quality)) {
    const encoding = encodingOf(type);
    if (!encoding) continue;
    const as = parameters.get("as");
    if (as === undefined) {
      if (jsonOnly && encoding === "protobuf") continue;
      return { ...plain, encoding, plainToo };
    }
    const group = parameters.get("g");
    if (group === "apidiscovery.k8s.io") return { ...plain, encoding, plainToo, discovery: parameters.get("v") };
    const known = transformations.find((name) => name === as);
    const asVersion = metaVersions.find((version) => version === `${group}/${parameters.get("v")}`);
    if (known && asVersion && (known !== "Table" || encoding !== "protobuf")) {
      return { ...plain, encoding, as: known, asVersion, plainToo };
    }
  }
  const types = ["application/json", "application/yaml", ...(jsonOnly ? [] : ["application/vnd.kubernetes.protobuf"])];
  // Upstream looks at the type before the transformation, and has another text for it.
  const isType = jsonOnly || alternatives.some(({ type }) => encodingOf(type));
  if (!isType) throw notAcceptable(`406: Not Acceptable\n\nAvailable representations: ${types.join(", ")}`);
  throw notAcceptable(`only the following media types are accepted: ${types.join(", ")}`);
}

function parseAlternative(text: string): { type: string; quality: number; parameters: Map<string, string> } {
  const [type = "", ...rest] = text.split(";").map((part) => part.trim());
  const parameters = new Map(rest.map((part) => [part.split("=", 1)[0] ?? "", part.slice(part.indexOf("=") + 1)]));
  const quality = Number(parameters.get("q") ?? "1");
  return { type: type.toLowerCase(), quality: Number.isFinite(quality) ? quality : 1, parameters };
}
