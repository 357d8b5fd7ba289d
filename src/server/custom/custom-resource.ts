import {
  type CustomResourceDefinition,
  type CustomResourceNames,
  type CustomResourceVersion,
} from "#api/apiextensions/definition-fields.ts";
import { type Conversion } from "#api/conversion.ts";
import { type Cursor } from "#api/cursor.ts";
import { keepMetadata } from "#api/meta/keep-metadata.ts";
import { dns1123Subdomain } from "#api/meta/names.ts";
import { MetadataField, type ObjectMeta, TypeMetaFields } from "#api/meta/object-meta.ts";
import {
  type ApiObject,
  apiVersionOf,
  type Column,
  change,
  type Deprecation,
  type FieldGetter,
  type Resource,
  type Scope,
  type StoredAs,
  type Subresource,
} from "#api/resource.ts";
import { inSlices, type Steps } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { decode } from "#schema/json/decode.ts";
import { TooManyValues } from "#schema/json/decode-error.ts";
import { type JsonSchema } from "#schema/json-schema.ts";
import { type ObjectSchema } from "#schema/schema.ts";
import { customObject } from "#schema/structural/structural.ts";
import { columnsOf } from "./columns.ts";
import { type CustomKind, versionIn } from "./custom-kind.ts";
import { deprecationOf } from "./deprecation.ts";
import { compileAhead } from "./rules/compile-rules.ts";
import { selectableFieldsOf } from "./selectable-fields.ts";
import { validateCustom, validateCustomStatus, warnOfFinalizers } from "./validate-custom.ts";

const meta = { ...TypeMetaFields, metadata: MetadataField };
const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"] as const;
const scaleBody = { group: "autoscaling", version: "v1", kind: "Scale" };

/** What is read from a version when it is first used: it may be large, and most versions are never used. */
interface Parts {
  readonly json: JsonSchema;
  readonly schema: ObjectSchema<ApiObject>;
  readonly columns: readonly Column<ApiObject>[];
}

/** One version of a custom kind as a Resource, which is served like any other. */
export class CustomResource implements Resource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly scope: Scope;
  readonly verbs = verbs;
  readonly subresources: readonly Subresource[];
  readonly selectableFields: Readonly<Record<string, FieldGetter<ApiObject>>>;
  readonly indexes = {};
  readonly hasGeneration = true;
  readonly conditionalUpdate = true;
  readonly freeFinalizers = true;
  readonly createOnUpdate = false;
  readonly ttlSeconds = undefined;
  readonly storagePrefix: string;
  readonly nameRule = dns1123Subdomain;
  readonly isJsonOnly = true;
  readonly deprecated?: Deprecation;
  readonly conversion: Conversion | undefined;
  readonly digest: string;
  readonly #kind: CustomKind;
  #parts: Parts | undefined;
  #preparing: Promise<void> | undefined;
  #isPrepared = false;

  constructor(
    kind: CustomKind,
    { spec, status }: CustomResourceDefinition,
    { version, digest }: { readonly version: CustomResourceVersion; readonly digest: string },
  ) {
    const names: CustomResourceNames = status.acceptedNames;
    this.#kind = kind;
    this.conversion = kind.conversion;
    this.digest = digest;
    this.group = spec.group;
    this.version = version.name;
    this.kind = names.kind;
    this.plural = names.plural;
    this.singular = names.singular ?? "";
    this.listKind = names.listKind ?? "";
    this.shortNames = names.shortNames ?? [];
    this.categories = names.categories ?? [];
    this.scope = spec.scope === "Cluster" ? "Cluster" : "Namespaced";
    this.subresources = subresourcesOf(version);
    this.selectableFields = selectableFieldsOf(version.selectableFields);
    this.storagePrefix = `${spec.group}/${names.plural}`;
    const deprecated = deprecationOf(spec, version);
    if (deprecated) this.deprecated = deprecated;
  }

  get schema(): ObjectSchema<ApiObject> {
    return this.#loaded.schema;
  }
  get columns(): readonly Column<ApiObject>[] {
    return this.#loaded.columns;
  }
  /** The schema that the author wrote. */
  get definition(): Record<string, unknown> {
    return this.#loaded.json as Record<string, unknown>;
  }
  get refusesCreate(): string | undefined {
    return this.#kind.isTerminating ? "create not allowed while custom resource definition is terminating" : undefined;
  }

  get #loaded(): Parts {
    this.#parts ??= this.#load();
    return this.#parts;
  }

  #load(): Parts {
    const version = versionIn(this.#kind, this.version);
    const json = version?.schema?.openAPIV3Schema ?? {};
    const schema = customObject(`${this.group}/${this.version}.${this.kind}`, json, meta);
    return { json, schema: schema as ObjectSchema<ApiObject>, columns: columnsOf(version?.additionalPrinterColumns) };
  }

  get #hasStatus(): boolean {
    return this.subresources.some(({ name }) => name === "status");
  }

  /** Objects are stored in one version; the others are made from it. Undefined for that version itself. */
  get storedAs(): StoredAs | undefined {
    const { storage } = this.#kind;
    if (!storage || storage === this) return undefined;
    return {
      resource: storage,
      // What the stored version does not know is not kept.
      toStored: (object) => storage.reread?.(object) ?? object,
      fromStored: (stored) => this.reread(stored),
    };
  }

  /**
   * The schema may have changed since the object was written: it gets new defaults, and loses unknown fields. What a
   * webhook converts comes here in this version.
   */
  reread(stored: ApiObject): ApiObject {
    const apiVersion = apiVersionOf(this);
    const object = stored.apiVersion === apiVersion ? stored : { ...stored, apiVersion };
    const defaults = true;
    try {
      const present = decode(this.schema, object, { defaults }).value;
      return equal(present, stored) ? stored : present;
    } catch (error) {
      if (error instanceof TooManyValues) return object;
      throw error;
    }
  }

  prepareForCreate(object: ApiObject & { status?: unknown }): void {
    if (this.#hasStatus) delete object.status;
  }

  prepareForUpdate(object: ApiObject & { status?: unknown }, old: ApiObject & { status?: unknown }): void {
    if (!this.#hasStatus) return;
    if (old.status !== undefined) object.status = old.status;
    else delete object.status;
  }

  prepareForStatusUpdate({ metadata }: ApiObject, { metadata: old }: ApiObject): void {
    keepMetadata(metadata, old, ...ownMetadata);
  }

  /** A version may have hundreds of rules, which are compiled when the first object is written. */
  prepareValidation(): Promise<void> | undefined {
    if (this.#isPrepared) return undefined;
    this.#preparing ??= inSlices(compileAhead(this.#loaded.json, true)).then(() => {
      this.#isPrepared = true;
      this.#preparing = undefined;
    });
    return this.#preparing;
  }

  validateCreate(at: Cursor<ApiObject>): Steps<void> | undefined {
    return validateCustom(this, this.#loaded.json, at, undefined);
  }

  validateUpdate(at: Cursor<ApiObject>, old: ApiObject): Steps<void> | undefined {
    return validateCustom(this, this.#loaded.json, at, old);
  }

  validateStatusUpdate(at: Cursor<ApiObject>, old: ApiObject): Steps<void> | undefined {
    return validateCustomStatus(this, this.#loaded.json, at, old);
  }

  warnings(at: Cursor<ApiObject>, old: ApiObject | undefined): void {
    warnOfFinalizers(at, old);
  }
}

/** What a write of the status cannot change. */
const ownMetadata: (keyof ObjectMeta)[] = [
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "finalizers",
  "ownerReferences",
  "generateName",
];

/** In the order of discovery. */
function subresourcesOf({ subresources }: CustomResourceVersion): Subresource[] {
  const { status, scale } = subresources ?? {};
  const found: Subresource[] = [];
  if (scale) {
    const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
    const selector = labelSelectorPath ? { labelSelector: labelSelectorPath } : {};
    const paths = { specReplicas: specReplicasPath, statusReplicas: statusReplicasPath, ...selector };
    found.push({ name: "scale", verbs: change, body: scaleBody, scale: paths });
  }
  if (status) found.push({ name: "status", verbs: change, resets: { spec: true, metadata: true } });
  return found;
}
