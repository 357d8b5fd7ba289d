/** The bytes of an instruction, a label, or a jump to a label. */
export type Instruction =
  | readonly number[]
  | { readonly label: string }
  | { readonly to: string; encode(distance: number): readonly number[] };

export type Machine = "amd64" | "arm64";
const machineNumbers: Readonly<Record<Machine, number>> = { amd64: 62, arm64: 183 };

/** Lays out the instructions in order. A distance is counted from the start of the jump. */
export function assemble(program: readonly Instruction[]): Uint8Array {
  const labels = new Map<string, number>();
  let at = 0;
  for (const step of program) {
    if ("label" in step) labels.set(step.label, at);
    else at += ("to" in step ? step.encode(0) : step).length;
  }
  const bytes: number[] = [];
  for (const step of program) {
    if ("label" in step) continue;
    bytes.push(...("to" in step ? step.encode((labels.get(step.to) ?? 0) - bytes.length) : step));
  }
  return Uint8Array.from(bytes);
}

/** A static program of one segment: a file header of 64 bytes, a program header of 56 bytes, then the code. */
export function elfProgram(machine: Machine, code: Uint8Array): Uint8Array {
  const headers = 64 + 56;
  const base = 0x400000n;
  const file = Buffer.alloc(headers + code.length);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0]); // Magic, 64 bits, little endian, version 1, System V.
  file.writeUInt16LE(2, 16); // An executable.
  file.writeUInt16LE(machineNumbers[machine], 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(base + BigInt(headers), 24); // Entry point.
  file.writeBigUInt64LE(64n, 32); // Offset of the program header.
  file.writeUInt16LE(64, 52);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56); // One program header.
  file.writeUInt16LE(64, 58);
  file.writeUInt32LE(1, 64); // PT_LOAD.
  file.writeUInt32LE(5, 68); // Readable and executable.
  file.writeBigUInt64LE(base, 80);
  file.writeBigUInt64LE(base, 88);
  file.writeBigUInt64LE(BigInt(file.length), 96);
  file.writeBigUInt64LE(BigInt(file.length), 104);
  file.writeBigUInt64LE(0x10000n, 112); // Alignment: the largest page size.
  file.set(code, headers);
  return new Uint8Array(file);
}
