/** A JSON object, as a client sends it. */
export type Tree = Record<string, unknown>;

/** Valid objects of one kind, without apiVersion, kind and metadata. */
export interface Sample {
  readonly kind: string;
  /** Only for kinds that are served in more than one group or version. */
  readonly apiVersion?: string;
  /** Only for kinds whose names have a meaning. */
  readonly name?: string;
  readonly body: Tree;
}
