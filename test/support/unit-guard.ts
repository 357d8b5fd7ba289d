/** Loaded before the unit tests, which share a process: none of them may start a process or listen. */
import childProcess from "node:child_process";
import dgram from "node:dgram";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

const refuse = (what: string) => (): never => {
  throw new Error(`a unit test ${what}: rename its file to *.process.test.ts or *.cluster.test.ts`);
};

for (const name of ["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork"] as const) {
  Object.assign(childProcess, { [name]: refuse(`starts a process with ${name}()`) });
}
net.Server.prototype.listen = refuse("listens");
dgram.Socket.prototype.bind = refuse("binds a socket");
syncBuiltinESMExports();
