/** Why a patch could not be applied, with the HTTP status that upstream answers for this kind of fault. */
export class PatchError extends Error {
  override readonly name = "PatchError";
  readonly code: PatchErrorCode;

  constructor(code: PatchErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * - 400: the patch itself is malformed.
 * - 413: the patch is too long.
 * - 422: the patch is well formed but does not fit the object.
 * - 500: upstream has no better word for it.
 */
export type PatchErrorCode = 400 | 413 | 422 | 500;

/** A `test` of a JSON patch did not hold. */
export class TestFailed extends PatchError {
  constructor(path: string) {
    super(422, `testing value ${path} failed: test failed`);
  }
}
