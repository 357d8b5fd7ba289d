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
