import { assemble, elfProgram, type Instruction, type Machine } from "./elf.ts";

/**
 * The program that holds a pod's namespaces; process 1 of a pod with a shared process namespace. It waits for signals,
 * reaps children, and exits on SIGTERM or SIGINT. The kernel drops signals for which process 1 has no handler, but not
 * those that it has blocked. So the program blocks these three and takes them one at a time.
 *
 *     block {INT, TERM, CHLD}
 *     wait:  signal = sigtimedwait(…)
 *            CHLD → reap; TERM, INT → exit 0; else → wait
 *     reap:  while (wait4(any, WNOHANG) > 0); → wait
 */
export function pauseProgram(machine: Machine): Uint8Array {
  return elfProgram(machine, assemble(machine === "amd64" ? amd64() : arm64()));
}

const [sigInt, sigTerm, sigChld] = [2, 15, 17];
/** Bit n-1 stands for signal n. */
const mask = [sigInt, sigTerm, sigChld].reduce((bits, signal) => bits | (1 << (signal - 1)), 0);
const noHang = 1;

const le32 = (value: number): number[] => [0, 8, 16, 24].map((shift) => (value >>> shift) & 255);

function amd64(): Instruction[] {
  const syscall = (number: number): number[] => [0xb8, ...le32(number), 0x0f, 0x05]; // mov eax, n; syscall
  const clearRdi = [0x31, 0xff];
  const clearRsi = [0x31, 0xf6];
  const clearRdx = [0x31, 0xd2];
  const setSize = [0x41, 0xba, ...le32(8)]; // mov r10d, 8
  const compare = (signal: number): number[] => [0x83, 0xf8, signal]; // cmp eax, signal
  const jump = (opcode: number, to: string): Instruction => ({
    to,
    encode: (distance) => [opcode, (distance - 2) & 255], // Counted from the next instruction.
  });
  const [always, ifEqual, ifNotEqual, ifGreater] = [0xeb, 0x74, 0x75, 0x7f];
  return [
    [0x68, ...le32(mask)], // push mask
    [0x48, 0x89, 0xe6], // mov rsi, rsp
    [...clearRdi, ...clearRdx, ...setSize, ...syscall(14)], // rt_sigprocmask
    { label: "wait" },
    [0x48, 0x89, 0xe7], // mov rdi, rsp
    [...clearRsi, ...clearRdx, ...setSize, ...syscall(128)], // rt_sigtimedwait
    compare(sigChld),
    jump(ifEqual, "reap"),
    compare(sigTerm),
    jump(ifEqual, "leave"),
    compare(sigInt),
    jump(ifNotEqual, "wait"),
    { label: "leave" },
    [...clearRdi, ...syscall(60)], // exit
    { label: "reap" },
    [0x48, 0xc7, 0xc7, ...le32(-1)], // mov rdi, -1
    [...clearRsi, 0xba, ...le32(noHang)], // mov edx, WNOHANG
    [0x45, 0x31, 0xd2, ...syscall(61)], // xor r10d, r10d; wait4
    [0x85, 0xc0], // test eax, eax
    jump(ifGreater, "reap"),
    jump(always, "wait"),
  ];
}

function arm64(): Instruction[] {
  const set = (register: number, value: number): number[] => [
    ...le32(0xd2800000 | ((value & 0xffff) << 5) | register), // movz
    ...le32(0xf2a00000 | (((value >>> 16) & 0xffff) << 5) | register), // movk, lsl 16
  ];
  const stackInto = (register: number): number[] => le32(0x910003e0 | register); // mov register, sp
  const syscall = (number: number): number[] => [...set(8, number), ...le32(0xd4000001)]; // svc 0
  const compare = (value: number): number[] => le32(0xf100001f | (value << 10)); // cmp x0, value
  const branch = (to: string): Instruction => ({
    to,
    encode: (distance) => le32(0x14000000 | ((distance >> 2) & 0x3ffffff)),
  });
  const branchIf = (condition: number, to: string): Instruction => ({
    to,
    encode: (distance) => le32(0x54000000 | (((distance >> 2) & 0x7ffff) << 5) | condition),
  });
  const [equal, notEqual, greater] = [0, 1, 12];
  return [
    [...set(0, mask), ...le32(0xf81f0fe0)], // str x0, [sp, -16]!
    [...set(0, 0), ...stackInto(1), ...set(2, 0), ...set(3, 8), ...syscall(135)], // rt_sigprocmask
    { label: "wait" },
    [...stackInto(0), ...set(1, 0), ...set(2, 0), ...set(3, 8), ...syscall(137)], // rt_sigtimedwait
    compare(sigChld),
    branchIf(equal, "reap"),
    compare(sigTerm),
    branchIf(equal, "leave"),
    compare(sigInt),
    branchIf(notEqual, "wait"),
    { label: "leave" },
    [...set(0, 0), ...syscall(93)], // exit
    { label: "reap" },
    [...le32(0x92800000), ...set(1, 0), ...set(2, noHang), ...set(3, 0), ...syscall(260)], // x0 = -1; wait4
    compare(0),
    branchIf(greater, "reap"),
    branch("wait"),
  ];
}
