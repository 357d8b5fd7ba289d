/** A valid JSON value of each scalar type that has only one form. */
export const plainScalars = {
  boolean: true,
  bytes: "YQ==",
  time: "2026-01-01T00:00:00Z",
  microTime: "2026-01-01T00:00:00.000000Z",
  duration: "1s",
  quantity: "1",
  intOrString: 80,
};
