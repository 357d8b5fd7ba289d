/** The signals that a pod may name, numbered as in CRI: alphabetically, from 1. */
const names = (
  "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP " +
  "TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN"
).split(" ");

const numbers = new Map(names.map((name, at) => [`SIG${name}`, at + 1]));
for (let n = 1; n <= 15; n++) numbers.set(`SIGRTMIN+${n}`, 35 + n);
for (let n = 14; n >= 1; n--) numbers.set(`SIGRTMAX-${n}`, 65 - n);
numbers.set("SIGRTMAX", 65);

/** CRI's number of a signal such as `SIGTERM`; 0, the runtime's default, for an unknown name. */
export const signalNumber = (name: string): number => numbers.get(name) ?? 0;
