/** The code of a system error, such as `ENOENT`; undefined for any other error. */
export const errorCode = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

/** The file does not exist, or no longer exists. */
export const isGone = (error: unknown): boolean => errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR";
