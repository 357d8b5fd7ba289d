/** A policy could not make its change. What becomes of the request, its failure policy decides. */
export class MutationError extends Error {
  override readonly name = "MutationError";
}
