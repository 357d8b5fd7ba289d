import { type FieldError } from "#schema/field-error.ts";
import { type Field, type Infer, type InferFields, type ObjectSchema, object } from "#schema/schema.ts";
import { MetadataField, type ObjectMeta, TypeMetaFields } from "./meta/object-meta.ts";

/** What all stored objects have in common. */
export interface ApiObject {
  kind?: string;
  apiVersion?: string;
  metadata: ObjectMeta;
}

/** One kind, whole. The server, clients, informers, tables and OpenAPI all read this one declaration. */
export interface Resource<T extends ApiObject = ApiObject> {
  /** "" for core. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly scope: Scope;
  readonly verbs: readonly Verb[];
  /** The whole object: kind, apiVersion, metadata and the fields of the declaration. */
  readonly schema: ObjectSchema<T>;
  readonly subresources: readonly Subresource[];
  /** Name goes in front unless one of these has that name; none at all means Name and Created At. */
  readonly columns: readonly Column<T>[];
  /** What a client that prints a table should know of an object's row. */
  rowConditions?(object: T): readonly RowCondition[] | undefined;
  /** Field selectors besides metadata.name and metadata.namespace. */
  readonly selectableFields: Readonly<Record<string, FieldGetter<T>>>;
  /** What caches and informers index besides namespace, owner and controller. */
  readonly indexes: Readonly<Record<string, IndexGetter<T>>>;
  /** Changes outside metadata and status count in metadata.generation. */
  readonly hasGeneration: boolean;
  /** An update must say which version it means. */
  readonly conditionalUpdate?: boolean;
  /** Deleting one that goes at once answers with the object, and not with a Status. */
  readonly returnsDeleted?: boolean;
  /** Nothing depends on one: deleting it waits for no dependents, whatever is asked for. */
  readonly hasNoDependents?: boolean;
  /** Its finalizers need no domain in their names. */
  readonly freeFinalizers?: boolean;
  /** PUT creates what is not there. */
  readonly createOnUpdate: boolean;
  /** Seconds after the last write at which the object goes by itself (events). */
  readonly ttlSeconds: number | undefined;
  /** Where the store keeps it: `pods` in /registry/pods/ns/name. */
  readonly storagePrefix: string;
  /** For a second version of another Resource: the store keeps that one, these turn the two into each other. */
  readonly storedAs?: StoredAs<T>;

  /** What is wrong with a name, in upstream's words. */
  nameRule(name: string): string | undefined;
  /** Clears what a client may not set and fills what only the server knows. Runs before validation. */
  prepareForCreate?(object: T): void;
  /** The same for an update of the main resource; `old` is shared: do not change it. */
  prepareForUpdate?(object: T, old: T): void;
  /** The same for the status subresource, after everything but status was taken from `old`. */
  prepareForStatusUpdate?(object: T, old: T): void;
  /** Every fault that the schema's own checks cannot see. */
  validate?(object: T): Iterable<FieldError>;
  /** Faults that only a new object can have; `validate` has run too. */
  validateCreate?(object: T): Iterable<FieldError>;
  /** Faults of the change itself; `validate` has run on the new object too. */
  validateUpdate?(object: T, old: T): Iterable<FieldError>;
  validateStatusUpdate?(object: T, old: T): Iterable<FieldError>;
  /** Sent back as warning headers. */
  warnings?(object: T, old: T | undefined): Iterable<string>;
  /** Something besides metadata.finalizers keeps a deleted object alive (a namespace's spec.finalizers). */
  holdsDeletion?(object: T): boolean;
  /** Shows in the object that its deletion has begun. */
  prepareForDeletion?(object: T): void;
  /** How long the object may take to end by itself, in seconds; 0 or absent deletes at once. */
  gracePeriodSeconds?(object: T, asked: number | undefined): number;
}

export type Scope = "Namespaced" | "Cluster";
export type Verb = "create" | "delete" | "deletecollection" | "get" | "list" | "patch" | "update" | "watch";
/** Upstream's order in discovery. */
const allVerbs: readonly Verb[] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

export interface Subresource {
  /** `status`, `scale`, `binding`, `log`, `exec` … */
  readonly name: string;
  readonly verbs: readonly string[];
  /** What travels, if it is not the resource itself: `{ group: "autoscaling", version: "v1", kind: "Scale" }`. */
  readonly body?: { readonly group: string; readonly version: string; readonly kind: string };
  /** For `scale`: where the numbers are. */
  readonly scale?: ScalePaths;
  /** For one that changes a part of the object (`resize`): stands in for the resource's own prepare and validateUpdate. */
  readonly update?: PartialUpdate;
}
export interface PartialUpdate<T extends ApiObject = ApiObject> {
  /** Takes everything but its part from `old`. */
  prepare(object: T, old: T): void;
  /** Faults of the change itself; the resource's `validate` has run on the new object too. */
  validate(object: T, old: T): Iterable<FieldError>;
}
export interface ScalePaths {
  readonly specReplicas: string;
  readonly statusReplicas: string;
  readonly labelSelector?: string;
}

export interface StoredAs<T extends ApiObject = ApiObject> {
  readonly resource: Resource;
  toStored(object: T): ApiObject;
  fromStored(stored: ApiObject): T;
}

/** A column of the table that `kubectl get` prints. */
export interface Column<T> {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  /** 0 is always shown, 1 only with `-o wide`. */
  readonly priority?: number;
  readonly format?: string;
  readonly description?: string;
  /** `now` is in milliseconds, for ages. */
  value(object: T, now: number): unknown;
}
export interface RowCondition {
  readonly type: "Completed";
  readonly status: "True";
  readonly reason: string;
  readonly message: string;
}
/** Method syntax keeps `Resource<Pod>` assignable to `Resource`. */
interface Getters<T> {
  field(object: T): string | undefined;
  index(object: T): readonly string[];
}
export type FieldGetter<T> = Getters<T>["field"];
export type IndexGetter<T> = Getters<T>["index"];

type Identity = "group" | "version" | "kind" | "plural" | "scope";
type Derived = "schema" | "nameRule" | keyof DerivedDefaults;
interface DerivedDefaults
  extends Pick<
    Resource,
    | "singular"
    | "listKind"
    | "shortNames"
    | "categories"
    | "verbs"
    | "subresources"
    | "hasGeneration"
    | "createOnUpdate"
    | "ttlSeconds"
    | "storagePrefix"
  > {
  columns: unknown;
  selectableFields: unknown;
  indexes: unknown;
}

/** A Resource as it is written down: what is left out has the usual value. */
export type ResourceDeclaration<T extends ApiObject, F> = Pick<Resource<T>, Identity> &
  Partial<Pick<Resource<T>, Exclude<keyof DerivedDefaults, "schema">>> &
  Omit<Resource<T>, Identity | Derived> & {
    readonly fields: F;
    readonly doc: string;
    /** Package part of the schema's name if it is not `<group>/<version>`: `core/v1`. */
    readonly package: string;
    nameRule?(name: string): string | undefined;
    /** Defaults that look at more than one field of the whole object. */
    defaults?(object: T): void;
  };

/** The object type of a Resource with these fields, for functions that its own declaration calls. */
export type ObjectOf<F> = ApiObject & InferFields<F>;

/** Declares a kind. Adding one to the system is this call and a line in `all.ts`. */
export function defineResource<F extends Readonly<Record<string, Field>>>(
  declaration: ResourceDeclaration<ObjectOf<F>, F>,
): Resource<ObjectOf<F>> {
  const { fields, doc, package: goPackage, defaults, nameRule, ...rest } = declaration;
  const name = `${goPackage}.${declaration.kind}`;
  const options = defaults ? { doc, defaults } : { doc };
  const schema = object(name, { ...TypeMetaFields, metadata: MetadataField, ...fields }, options);
  return {
    singular: declaration.kind.toLowerCase(),
    listKind: `${declaration.kind}List`,
    shortNames: [],
    categories: [],
    verbs: allVerbs,
    subresources: [],
    columns: [],
    selectableFields: {},
    indexes: {},
    hasGeneration: false,
    createOnUpdate: false,
    ttlSeconds: undefined,
    storagePrefix: declaration.plural,
    nameRule: nameRule ?? (() => undefined),
    ...rest,
    schema: schema as unknown as ObjectSchema<ObjectOf<F>>,
  };
}

/** The object type of a Resource: `interface Pod extends ObjectTypeOf<typeof Pod> {}`. */
export type ObjectTypeOf<R> = R extends Resource<infer T> ? T : never;
/** What a client may leave out when it writes: everything that is defaulted or filled in. */
export type InputOf<T> = T extends (infer I)[]
  ? InputOf<I>[]
  : T extends object
    ? { [K in keyof T]?: InputOf<T[K]> }
    : T;

export const apiVersionOf = (resource: Pick<Resource, "group" | "version">): string =>
  resource.group ? `${resource.group}/${resource.version}` : resource.version;

/** The group in `apps/v1`; the core group, whose name is empty, in `v1`. */
export const groupOf = (apiVersion: string): string => apiVersion.slice(0, Math.max(0, apiVersion.indexOf("/")));

/** `deployments.apps`, `pods`: how messages name a resource. */
export const groupResource = (resource: Pick<Resource, "group">, name: string): string =>
  resource.group ? `${name}.${resource.group}` : name;

export type { Infer };
