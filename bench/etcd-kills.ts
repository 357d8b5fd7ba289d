/** `npm run bench -- etcd-kills`: kills API servers and members of etcd at random for five minutes under 2,000 writers. */
import { parseArgs } from "node:util";
import { killEverything } from "../test/support/etcd-kills.ts";

export async function runEtcdKills(args: readonly string[]): Promise<void> {
  const { values: flags } = parseArgs({
    args: [...args],
    options: {
      members: { type: "string", default: "3" },
      writers: { type: "string", default: "2000" },
      minutes: { type: "string", default: "5" },
    },
  });
  const say = (text: string): void => void process.stdout.write(text);
  const report = await killEverything({
    members: Number(flags.members),
    writers: Number(flags.writers),
    seconds: Number(flags.minutes) * 60,
    say,
  });
  say(`nothing acknowledged was lost, and both servers show the same: ${JSON.stringify(report)}\n`);
}
