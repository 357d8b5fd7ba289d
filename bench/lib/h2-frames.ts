/** The types of HTTP/2 frames. */
export const frame = {
  data: 0,
  headers: 1,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** length (24), type (8), flags (8), stream (32), payload */
export function h2Frame(type: number, payload: readonly number[] = [], { flags = 0, stream = 0 } = {}): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, Buffer.from(payload)]);
}

/** The start of every server: its settings, and the acknowledgement of the client's. */
export const h2Start = Buffer.concat([h2Frame(frame.settings), h2Frame(frame.settings, [], { flags: 1 })]);
/** `:status: 200` by its index in the static table, and `:status: 103` as a literal. */
export const status200 = [0x88];
export const status103 = [0x08, 3, 0x31, 0x30, 0x33];
