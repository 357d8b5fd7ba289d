import { type Resource } from "#api/resource.ts";

/** Every kind that is served. Custom kinds come and go. */
export interface Kinds {
  all(): readonly Resource[];
  /** Calls the handler after every change. Returns a function that ends this. */
  subscribe(handler: () => void): () => void;
}

/** Kinds that never change. */
export const fixedKinds = (resources: readonly Resource[]): Kinds => ({
  all: () => resources,
  subscribe: () => () => undefined,
});

/** Kinds that other servers serve, as those describe them: each in the version that its server prefers. */
export interface RemoteKinds extends Kinds {
  /** The same kinds in every version. */
  inAllVersions(): readonly Resource[];
  /** Groups and versions whose servers do not say what they serve. */
  undescribed(): readonly string[];
}

export const noRemoteKinds: RemoteKinds = { ...fixedKinds([]), inAllVersions: () => [], undescribed: () => [] };
