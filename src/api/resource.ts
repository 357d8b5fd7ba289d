import { type Steps } from "#lib/async/turns.ts";
import { type Fields, type InferFields, type ObjectSchema, object } from "#schema/schema.ts";
import type { Conversion } from "./conversion.ts";
import { type Cursor } from "./cursor.ts";
import { type UserInfo } from "./exchange.ts";
import type { Look } from "./known-sound.ts";
import { dns1123Subdomain } from "./meta/names.ts";
import { MetadataField, type ObjectMeta, TypeMetaFields } from "./meta/object-meta.ts";

/** What all objects have in common, including those that a client has just sent. */
export interface ApiObject {
  kind?: string;
  apiVersion?: string;
  metadata: ObjectMeta;
}

/** An object as the server returns it, with everything that the server fills in. */
export type Stored<T extends ApiObject = ApiObject> = T & { metadata: StoredMeta };
export interface StoredMeta extends ObjectMeta {
  name: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
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
  /** A Name column is added in front if there is none. Without columns, the table has Name and Created At. */
  readonly columns: readonly Column<T>[];
  /** Conditions of an object's row, for clients that print the table. */
  rowConditions?(object: T): readonly RowCondition[] | undefined;
  /** Field selectors besides metadata.name and metadata.namespace. */
  readonly selectableFields: Readonly<Record<string, FieldGetter<T>>>;
  /** What caches and informers index besides namespace, owner and controller. */
  readonly indexes: Readonly<Record<string, IndexGetter<T>>>;
  /** A change outside of metadata and status raises metadata.generation. */
  readonly hasGeneration: boolean;
  /** An update must send the resourceVersion. */
  readonly conditionalUpdate?: boolean;
  /** A deletion that takes effect at once answers with the object instead of a Status. */
  readonly returnsDeleted?: boolean;
  /** It owns nothing and nothing owns it: it is deleted at once, and the garbage collector does not watch it. */
  readonly hasNoDependents?: boolean;
  /** A deletion that does not say what becomes of its dependents leaves them alone, and answers with this warning, if any. */
  readonly orphansDependents?: string;
  /** It is written so often that traces of these writes would push all others out of memory. */
  readonly isUntraced?: boolean;
  /** Its objects are the namespaces: in a path, its name is also the namespace. */
  readonly isNamespace?: boolean;
  /** Its finalizers need no domain in their names. */
  readonly freeFinalizers?: boolean;
  /** Every request for it is answered with a warning. */
  readonly deprecated?: Deprecation;
  /** Fields besides the status that writes of the object itself cannot change, so nobody owns them. */
  readonly resets?: FieldTree;
  /** PUT creates an object that does not exist. */
  readonly createOnUpdate: boolean;
  /** Seconds after the last write when the server deletes the object (events). */
  readonly ttlSeconds: number | undefined;
  /** Where the store keeps it: `pods` in /registry/pods/ns/name. */
  readonly storagePrefix: string;
  /** For a second version of another Resource. The store keeps that other one; these functions convert. */
  readonly storedAs?: StoredAs<T> | undefined;
  /** How a webhook converts its objects to and from other versions; undefined if the versions convert by themselves. */
  readonly conversion?: Conversion | undefined;
  /** Another server serves it: there is no local copy, and that server may not answer. */
  readonly isRemote?: true;
  /** That other server. Versions of a group that the same server serves are the same objects. */
  readonly remoteServer?: string;
  /** It has no protobuf form. */
  readonly isJsonOnly?: boolean;
  /** Why no object can be created any more; undefined while it can. */
  readonly refusesCreate?: string | undefined;
  /** Objects are large and rarely read, so the cache keeps only their bytes. */
  readonly keptAsBytes?: boolean;
  /** For a kind that can change: changes with everything that it is made of. */
  readonly digest?: string;
  /** Its objects are computed when they are read. Nothing of it is stored, so it can be neither written nor watched. */
  readonly isComputed?: boolean;
  /** Ready-made OpenAPI, for a kind that was not declared in our schema language. */
  readonly definition?: Record<string, unknown>;

  /**
   * Brings a stored object into its present form, if its kind may have changed since it was written. Returns the same
   * object if there is nothing to change.
   */
  reread?(stored: ApiObject): T;

  /** What is wrong with a name, in upstream's words. */
  nameRule(name: string): string | undefined;
  /** Clears what a client may not set and fills what only the server knows. Runs before validation. */
  prepareForCreate?(object: T, writer?: Writer): void;
  /** The same for an update of the main resource; `old` is shared: do not change it. */
  prepareForUpdate?(object: T, old: T): void;
  /** The same for the status subresource, after everything but status was taken from `old`. */
  prepareForStatusUpdate?(object: T, old: T, writer?: Writer): void;
  /** Prepares what validation needs, a little in each turn of the event loop; undefined once that is done. */
  prepareValidation?(): Promise<void> | undefined;
  /**
   * What `validate`, `validateCreate`, `warnings` and the schema of `spec` look at in a new object, as text. undefined if
   * its text does not decide what they find.
   */
  rulesLookAt?(object: T): Look | undefined;
  /** Every fault that the schema's own checks cannot see. */
  validate?(at: Cursor<T>): void;
  /** Faults that only a new object can have; `validate` has run too. What takes long is returned, as steps. */
  validateCreate?(at: Cursor<T>): void | Steps<void>;
  /** Faults of the change itself; `validate` has run on the new object too. */
  validateUpdate?(at: Cursor<T>, old: T): void | Steps<void>;
  validateStatusUpdate?(at: Cursor<T>, old: T): void | Steps<void>;
  /** What is sent back as warning headers. */
  warnings?(at: Cursor<T>, old: T | undefined): void;
  /** Whether something besides metadata.finalizers keeps a deleted object (a namespace's spec.finalizers). */
  holdsDeletion?(object: T): boolean;
  /** Shows in the object that its deletion has begun. */
  prepareForDeletion?(object: T): void;
  /** Seconds that the object has to shut down; 0 or absent deletes at once. */
  gracePeriodSeconds?(object: T, asked: number | undefined): number;
}

/** Who makes a write, and when. */
export interface Writer {
  readonly user: UserInfo;
  /** In milliseconds. */
  readonly now: number;
}

export interface Deprecation {
  /** The first release in which it was deprecated, such as `v1.33`. */
  readonly since?: string;
  /** The API that replaces it, as `apiVersion Kind`. */
  readonly use?: string;
  /** A text of its own, instead of the usual one. */
  readonly warning?: string;
}

export type Scope = "Namespaced" | "Cluster";
export type Verb = "create" | "delete" | "deletecollection" | "get" | "list" | "patch" | "update" | "watch";
/** Upstream's order in discovery. */
const allVerbs: readonly Verb[] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

export interface Subresource {
  /** `status`, `scale`, `binding`, `log`, `exec` … */
  readonly name: string;
  readonly verbs: readonly string[];
  /** The body, if it is not the resource itself: `{ group: "autoscaling", version: "v1", kind: "Scale" }`. */
  readonly body?: { readonly group: string; readonly version: string; readonly kind: string };
  /** It connects the caller to a node or to a pod. Without a connection to nodes, it does not exist. */
  readonly connects?: true;
  /** Fields that a write through it cannot change, so it gives nobody ownership of them. */
  readonly resets?: FieldTree;
  /** The only fields that a write through it can change. */
  readonly only?: FieldTree;
  /** For `scale`: where the numbers are. */
  readonly scale?: ScalePaths;
  /** For one that changes a part of the object (`resize`): replaces the resource's own prepare and validateUpdate. */
  readonly update?: PartialUpdate;
}
/** Some of the fields of an object; "*" stands for every item of a list. */
export interface FieldTree {
  readonly [name: string]: FieldTree | true;
}
export interface PartialUpdate<T extends ApiObject = ApiObject> {
  /** Takes everything but its part from `old`. */
  prepare(object: T, old: T, writer?: Writer): void;
  /** Faults of the change itself; the resource's `validate` has run on the new object too. */
  validate(at: Cursor<T>, old: T): void;
}
export interface ScalePaths {
  readonly specReplicas: string;
  readonly statusReplicas: string;
  readonly labelSelector?: string;
  /** The selector, where it is a map of labels. */
  readonly labels?: string;
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
  /** `now` is in milliseconds, for ages. All cells of a row share the room for long texts. */
  value(object: T, now: number, room?: RowRoom): unknown;
}
/** What the cells of a row that are not limited otherwise may still take together. */
export interface RowRoom {
  chars: number;
  /** Values of the object to look at. */
  values: number;
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

/** What a kind has unless its declaration says something else. */
const usual = {
  shortNames: [],
  categories: [],
  scope: "Namespaced",
  verbs: allVerbs,
  columns: [],
  selectableFields: {},
  indexes: {},
  hasGeneration: false,
  createOnUpdate: false,
  ttlSeconds: undefined,
  nameRule: dns1123Subdomain,
} as const;
/** What a declaration may leave out. */
type Usual = keyof typeof usual | "plural" | "singular" | "listKind" | "subresources" | "storagePrefix";
type Derived = "group" | "version" | "kind" | "schema";
type InitialStatus<T> = "as sent" | (T extends { status?: infer S } ? Initial<T, S>["status"] : never);
/** Method syntax, as above. */
interface Initial<T, S> {
  status(object: T): S;
}

/** What a kind is besides its fields. */
export type ResourceDeclaration<T extends ApiObject> = Omit<Resource<T>, Derived | Usual> &
  Partial<Pick<Resource<T>, Usual>> & {
    readonly doc: string;
    /**
     * It has `/status`, and all other updates keep the status. A new object gets this one, whatever the client sent;
     * "as sent" lets the client's through.
     */
    readonly withStatus?: InitialStatus<T>;
    /** What an update of the status leaves as it was, if that is not just the spec. */
    readonly statusResets?: FieldTree;
    /** It has `/scale`, with the numbers at these paths; `true` for the usual ones. */
    readonly scalable?: true | ScalePaths;
    /** Defaults that look at more than one field of the whole object. */
    defaults?(object: T): void;
  };

/** An object with these fields as a client sent it: what the hooks of a declaration are called with. */
export type ObjectOf<F> = ApiObject & InferFields<F>;
/** The same object as the server returns it: `interface Node extends ClusterObject<typeof fields> {}`. */
export type ClusterObject<F> = Stored<ObjectOf<F>>;
/** The same for a kind whose objects are in namespaces. */
export type NamespacedObject<F> = Stored<ObjectOf<F>> & { metadata: { namespace: string } };

/** What the server returns. A kind that can only be created is not stored, so nothing is filled in. */
type ReadAs<F, S extends Scope, V extends Verb> = [V] extends ["create"]
  ? ObjectOf<F>
  : S extends "Namespaced"
    ? NamespacedObject<F>
    : ClusterObject<F>;

/** Declares a kind by its name, such as `apps/v1.Deployment`. Adding one to the system is this call and a line in `all.ts`. */
export function defineResource<F extends Fields, S extends Scope = "Namespaced", V extends Verb = Verb>(
  name: string,
  fields: F,
  declaration: ResourceDeclaration<ObjectOf<F>> & { readonly scope?: S; readonly verbs?: readonly V[] },
): Resource<ReadAs<F, S, V>>;
export function defineResource<F extends Fields>(
  name: string,
  fields: F,
  declaration: ResourceDeclaration<ObjectOf<F>>,
): Resource<ObjectOf<F>> {
  const { doc, defaults, withStatus, statusResets, scalable, ...rest } = declaration;
  const group = groupOf(name);
  const [version = "", kind = ""] = name.slice(name.indexOf("/") + 1).split(".");
  const schema = object(`${group.split(".")[0] || "core"}/${version}.${kind}`, defaults ? { doc, defaults } : doc, {
    ...TypeMetaFields,
    metadata: MetadataField,
    ...fields,
  });
  const plural = declaration.plural ?? pluralOf(kind);
  return {
    group,
    version,
    kind,
    plural,
    singular: kind.toLowerCase(),
    listKind: `${kind}List`,
    storagePrefix: plural,
    ...usual,
    ...rest,
    ...(withStatus === undefined ? {} : statusHooks(rest, withStatus)),
    subresources: subresourcesOf(declaration),
    schema: schema as unknown as ObjectSchema<ObjectOf<F>>,
  };
}

function pluralOf(kind: string): string {
  const singular = kind.toLowerCase();
  if (singular.endsWith("y")) return `${singular.slice(0, -1)}ies`;
  return singular.endsWith("s") ? `${singular}es` : `${singular}s`;
}

/** The verbs of a subresource that reads and changes a part of its object. */
export const change = ["get", "patch", "update"];
const usualScale = { specReplicas: "spec.replicas", statusReplicas: "status.replicas", labelSelector: "spec.selector" };

/** The `proxy` subresource, whose parameters are an object of this kind. */
export const proxied = (kind: string): Subresource => ({
  name: "proxy",
  connects: true,
  verbs: ["create", "delete", "get", "patch", "update"],
  body: { group: "", version: "v1", kind },
});

/** In the order of discovery. */
function subresourcesOf({
  subresources = [],
  withStatus,
  statusResets = { spec: true },
  scalable,
}: Pick<ResourceDeclaration<ApiObject>, "subresources" | "statusResets" | "scalable"> & {
  withStatus?: unknown;
}): Subresource[] {
  const all = [...subresources];
  if (withStatus !== undefined) all.push({ name: "status", verbs: change, resets: statusResets });
  if (scalable) {
    const body = { group: "autoscaling", version: "v1", kind: "Scale" };
    all.push({ name: "scale", verbs: change, body, scale: scalable === true ? usualScale : scalable });
  }
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Lets only writes of the status change the status, then runs the hooks of the kind. */
function statusHooks<T extends ApiObject>(
  { prepareForCreate, prepareForUpdate }: Pick<Resource<T>, "prepareForCreate" | "prepareForUpdate">,
  initial: "as sent" | ((object: T) => unknown),
): Pick<Resource<T>, "prepareForCreate" | "prepareForUpdate"> {
  return {
    prepareForCreate(object: T & { status?: unknown }, writer?: Writer) {
      if (initial !== "as sent") object.status = initial(object);
      prepareForCreate?.(object, writer);
    },
    prepareForUpdate(object: T & { status?: unknown }, old: T & { status?: unknown }) {
      object.status = old.status;
      prepareForUpdate?.(object, old);
    },
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
