import { type Steps } from "#lib/async/turns.ts";
import { commonTypes, define, inEveryGroup, type OpenApiOptions } from "./openapi.ts";
import { Definitions, definitionName, type Flavor, type Json } from "./openapi-definitions.ts";
import { type OpenApiResource } from "./openapi-operations.ts";
import { type SharedParameters } from "./openapi-parameters.ts";
import { pathsOf } from "./openapi-paths.ts";
import { rootPath, rootsOf, versionRoots } from "./openapi-roots.ts";

/** The long lists of a document: everything else is short. */
export type List = "paths" | "definitions" | "parameters";

/** How a document is written: a member of one of its lists, and the whole from such members, in order of their names. */
export interface PartsFormat {
  readonly flavor: Flavor;
  member(list: List, name: string, value: Json): Uint8Array;
  document(lists: Readonly<Record<List, readonly Uint8Array[]>>, options: OpenApiOptions): Uint8Array;
}

type Members = Readonly<Record<List, ReadonlyMap<string, Uint8Array>>>;
type Entries = Iterable<readonly [string, unknown]>;

/**
 * An OpenAPI document in one format. What a custom kind adds is kept as bytes, so after a change of one kind only that one is
 * described and written again. The document says the same as that of `openApiV2` or `openApiV3`.
 */
export class OpenApiParts {
  readonly #options: OpenApiOptions;
  readonly #format: PartsFormat;
  /** What our own kinds say. They stay the same while the server runs. */
  #own: { readonly kinds: readonly OpenApiResource[]; readonly members: Members } | undefined;
  /** What each custom kind adds to that. */
  #custom = new WeakMap<OpenApiResource, Members>();

  constructor(options: OpenApiOptions, format: PartsFormat) {
    this.#options = options;
    this.#format = format;
  }

  /** Of everything served, or of one group and version. */
  *document(resources: readonly OpenApiResource[]): Steps<Uint8Array> {
    const [ours, custom]: [OpenApiResource[], OpenApiResource[]] = [[], []];
    for (const resource of resources) {
      // The first look at a definition may take a while.
      (resource.definition ? custom : ours).push(resource);
      yield;
    }
    const own = yield* this.#ownMembers(ours);
    const parts = [own];
    for (const resource of custom) parts.push(yield* this.#customMembers(resource, own));
    const groups = yield* this.#groupMembers(resources);
    const paths = inOrder([groups, ...parts], "paths");
    const parameters = inOrder(parts, "parameters");
    yield;
    const definitions = inOrder(parts, "definitions", groups.definitions);
    yield;
    return this.#format.document({ paths, definitions, parameters }, this.#options);
  }

  *#ownMembers(kinds: readonly OpenApiResource[]): Steps<Members> {
    const known = this.#own;
    if (known?.kinds.length === kinds.length && kinds.every((kind, index) => kind === known.kinds[index]))
      return known.members;
    const members = yield* this.#describe(kinds);
    this.#own = { kinds, members };
    // They left out what the kinds of before had said.
    this.#custom = new WeakMap();
    return members;
  }

  *#customMembers(resource: OpenApiResource, own: Members): Steps<Members> {
    const known = this.#custom.get(resource);
    if (known) return known;
    const members = yield* this.#describe([resource], own);
    this.#custom.set(resource, members);
    return members;
  }

  /** What depends on the groups that are served: their own paths, and the kinds that each of them has. */
  *#groupMembers(resources: readonly OpenApiResource[]): Steps<Members> {
    const definitions = new Definitions(this.#format.flavor, commonTypes(resources, this.#options));
    const paths = this.#roots(resources, definitions);
    yield;
    for (const name of inEveryGroup) definitions.body(name);
    const names = new Set([...inEveryGroup].map(definitionName));
    const kinds = Object.entries(definitions.toJson()).filter(([name]) => names.has(name));
    return yield* this.#write({ paths, definitions: kinds, parameters: [] });
  }

  /** The paths above those of kinds. In v3, those of a group and of the server have documents of their own. */
  #roots(resources: readonly OpenApiResource[], definitions: Definitions): [string, Json][] {
    const roots = this.#format.flavor === "v2" ? rootsOf(resources).map((root) => rootPath(root, definitions)) : [];
    return [...roots, ...versionRoots(resources, definitions)];
  }

  /** What kinds add to what others say. */
  *#describe(kinds: readonly OpenApiResource[], others?: Members): Steps<Members> {
    const definitions = new Definitions(this.#format.flavor, commonTypes(kinds, this.#options));
    yield* define(kinds, definitions);
    const parameters: SharedParameters = new Map();
    const paths: (readonly [string, Json])[] = [];
    for (const kind of kinds) {
      paths.push(...pathsOf(kind, definitions, parameters));
      yield;
    }
    // These paths are written elsewhere, but not the types that they use.
    this.#roots(kinds, definitions);
    yield;
    return yield* this.#write({ paths, definitions: Object.entries(definitions.toJson()), parameters }, others);
  }

  *#write(lists: Readonly<Record<List, Entries>>, others?: Members): Steps<Members> {
    return {
      paths: yield* this.#writeList("paths", lists.paths, others),
      definitions: yield* this.#writeList("definitions", lists.definitions, others),
      parameters: yield* this.#writeList("parameters", lists.parameters, others),
    };
  }

  *#writeList(list: List, entries: Entries, others?: Members): Steps<ReadonlyMap<string, Uint8Array>> {
    const written = new Map<string, Uint8Array>();
    for (const [name, value] of entries) {
      if (others?.[list].has(name)) continue;
      written.set(name, this.#format.member(list, name, value as Json));
      yield;
    }
    return written;
  }
}

/** The members of all parts by name. The first part that has a member decides, unless there is a newer form of it. */
function inOrder(parts: readonly Members[], list: List, newer?: ReadonlyMap<string, Uint8Array>): Uint8Array[] {
  const all = new Map<string, Uint8Array>();
  for (const part of parts) for (const [name, bytes] of part[list]) if (!all.has(name)) all.set(name, bytes);
  for (const [name, bytes] of newer ?? []) if (all.has(name)) all.set(name, bytes);
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, bytes]) => bytes);
}
