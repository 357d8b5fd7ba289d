/** The parts of a ClientHello, as a client writes them. */
export interface HelloParts {
  readonly serverName?: string | undefined;
  /** Further extensions by type, with the length of their content. */
  readonly others?: ReadonlyMap<number, number>;
  readonly sessionLength?: number;
}

const uint16 = (value: number): number[] => [(value >> 8) & 255, value & 255];
const vector16 = (bytes: readonly number[]): number[] => [...uint16(bytes.length), ...bytes];

/** The message with its header, but without records. */
export function encodeHello({ serverName, others = new Map(), sessionLength = 32 }: HelloParts): Buffer {
  const extensions = Array.from(others, ([type, length]) => [...uint16(type), ...vector16(Array(length).fill(7))]);
  if (serverName !== undefined) {
    const names = vector16([0, ...vector16([...Buffer.from(serverName)])]);
    extensions.splice(extensions.length >> 1, 0, [0, 0, ...vector16(names)]);
  }
  const body = [
    ...[3, 3, ...Array(32).fill(9)],
    ...[sessionLength, ...Array(sessionLength).fill(1)],
    ...vector16([0x13, 0x01, 0x13, 0x02]),
    ...[1, 0],
    ...vector16(extensions.flat()),
  ];
  return Buffer.from([1, body.length >> 16, ...uint16(body.length), ...body]);
}

/** Spreads a message over records, each with this many bytes at most. */
export function inRecords(message: Buffer, bytesEach = 16_384): Buffer {
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += bytesEach) {
    const part = message.subarray(at, at + bytesEach);
    records.push(Buffer.from([22, 3, 1, ...uint16(part.length)]), part);
  }
  return Buffer.concat(records);
}
