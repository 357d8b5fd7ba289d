import { createHash } from "node:crypto";
import {
  type CustomResourceDefinition,
  type CustomResourceNames,
  type CustomResourceVersion,
} from "#api/apiextensions/definition-fields.ts";
import { isEstablished, isTerminating } from "#api/apiextensions/definition-status.ts";
import { type Conversion } from "#api/conversion.ts";
import { type Resource } from "#api/resource.ts";
import { type ResourceRegistry } from "../registry.ts";
import { type CustomKind } from "./custom-kind.ts";
import { CustomResource } from "./custom-resource.ts";

export interface CustomKindsDeps {
  readonly resources: ResourceRegistry;
  /** The definition of this name as it is now. */
  definition(name: string): CustomResourceDefinition | undefined;
  /** How the webhook of a definition converts objects; undefined if it has none. */
  converterFor(definition: CustomResourceDefinition): OpenConversion | undefined;
  /** A Resource is no longer served: its cache and its watches end. */
  forget(resource: Resource): void;
}

/** A conversion that holds connections. */
export interface OpenConversion extends Conversion, Disposable {}

/**
 * Serves the custom kinds that the definitions describe, and nothing else:
 *
 *     definition ─→ kind ─→ one Resource for each version ─→ registry (routes, discovery, OpenAPI, controllers)
 *
 * A Resource stays while nothing about its version changes, and so do its cache and its watches. One that changes is
 * replaced by another.
 */
export class CustomKinds {
  readonly #deps: CustomKindsDeps;
  readonly #kinds = new Map<string, Kind>();

  constructor(deps: CustomKindsDeps) {
    this.#deps = deps;
  }

  /** Brings what is served into line with a new or changed definition. */
  put(definition: CustomResourceDefinition): void {
    const { name } = definition.metadata;
    let kind = this.#kinds.get(name);
    // Another definition of the same name has another uid, and nothing in common with it.
    if (kind && kind.uid !== definition.metadata.uid) this.delete(name);
    kind = this.#kinds.get(name) ?? new Kind(definition, () => this.#deps.definition(name));
    this.#kinds.set(name, kind);
    kind.update(definition, this.#deps);
  }

  delete(name: string): void {
    const kind = this.#kinds.get(name);
    this.#kinds.delete(name);
    kind?.end(this.#deps);
  }

  /** The version in which the objects of a definition are stored; undefined if they are not served. */
  storageOf(name: string): Resource | undefined {
    return this.#kinds.get(name)?.storage;
  }

  /** The accepted names of the other definitions in a group. */
  namesIn(group: string, except: string): readonly CustomResourceNames[] {
    const names: CustomResourceNames[] = [];
    for (const [name, kind] of this.#kinds) if (kind.group === group && name !== except) names.push(kind.names);
    return names;
  }

  /** The names of the other definitions in a group. */
  othersIn(group: string, except: string): string[] {
    return [...this.#kinds].filter(([name, kind]) => kind.group === group && name !== except).map(([name]) => name);
  }
}

class Kind implements CustomKind {
  readonly group: string;
  readonly plural: string;
  readonly uid: string;
  readonly definition: () => CustomResourceDefinition | undefined;
  names: CustomResourceNames;
  isTerminating = false;
  storage: Resource | undefined;
  conversion: OpenConversion | undefined;
  /** What the conversion was made from. */
  #converts = "";
  readonly #versions = new Map<string, CustomResource>();

  constructor({ metadata, spec, status }: CustomResourceDefinition, definition: CustomKind["definition"]) {
    this.group = spec.group;
    this.plural = spec.names.plural;
    this.uid = metadata.uid;
    this.names = status.acceptedNames;
    this.definition = definition;
  }

  update(definition: CustomResourceDefinition, deps: CustomKindsDeps): void {
    this.names = definition.status.acceptedNames;
    this.isTerminating = isTerminating(definition);
    const wanted = isEstablished(definition) ? definition.spec.versions : [];
    this.#updateConversion(definition, deps);
    const before = new Map(this.#versions);
    this.#versions.clear();
    for (const version of wanted) {
      const digest = digestOf(definition, version);
      const known = before.get(version.name);
      const resource = known?.digest === digest ? known : new CustomResource(this, definition, { version, digest });
      this.#versions.set(version.name, resource);
      if (version.storage) this.storage = resource;
    }
    if (wanted.length === 0) this.storage = undefined;
    this.#register(definition, before, deps);
  }

  /** A changed webhook is another one, and so are the Resources that use it. */
  #updateConversion(definition: CustomResourceDefinition, { converterFor }: CustomKindsDeps): void {
    const { conversion, versions } = definition.spec;
    const converts = JSON.stringify([conversion, versions.map(({ name }) => name)]);
    if (converts === this.#converts) return;
    this.#converts = converts;
    this.conversion?.[Symbol.dispose]();
    this.conversion = converterFor(definition);
  }

  end({ resources, forget }: CustomKindsDeps): void {
    this.conversion?.[Symbol.dispose]();
    for (const resource of this.#versions.values()) {
      resources.remove(resource);
      forget(resource);
    }
    this.#versions.clear();
    this.storage = undefined;
  }

  #register(
    { spec }: CustomResourceDefinition,
    before: ReadonlyMap<string, CustomResource>,
    { resources, forget }: CustomKindsDeps,
  ): void {
    for (const { name, served } of spec.versions) {
      const resource = this.#versions.get(name);
      if (!resource) continue;
      const current = resources.find(resource.group, resource.version, resource.plural);
      // A kind of our own is never replaced.
      const isOurs = current === undefined || current instanceof CustomResource;
      if (served && isOurs && current !== resource) resources.add(resource);
      if (!served) resources.remove(resource);
    }
    for (const [name, resource] of before) {
      if (this.#versions.get(name) === resource) continue;
      resources.remove(resource);
      forget(resource);
    }
  }
}

/** Changes with everything that the Resource of a version depends on. */
function digestOf({ spec, status }: CustomResourceDefinition, version: CustomResourceVersion): string {
  const { group, scope, conversion, versions } = spec;
  const storage = versions.find((other) => other.storage)?.name;
  const deprecations = versions.map(({ name, served, deprecated }) => [name, served, deprecated]);
  const { served: _, ...rest } = version;
  const parts = [group, scope, conversion, storage, deprecations, status.acceptedNames, rest];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64");
}
