import {
  bootstrapTokenId,
  bootstrapTokenNamespace,
  bootstrapTokenPrefix,
  readBootstrapToken,
} from "#api/authentication/bootstrap-token.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Secret } from "#api/core/secret.ts";
import { isAlreadyExists, isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { authorityHashOf, parseJoinToken, readClusterInfo } from "#cluster/join/cluster-info.ts";
import { joinTokenGroup } from "#cluster/join/node-identity.ts";
import { createJoinToken, listJoinTokens, tokenUsages } from "#cluster/join/tokens.ts";
import { systemClock } from "#lib/async/clock.ts";
import { durationMilliseconds, listOf, parseFlags, UserError } from "../command.ts";
import { connect, connectFlags } from "../connect.ts";
import { program } from "../program.ts";

const { namespace: _, ...whichCluster } = connectFlags;

export const flags = {
  ttl: { type: "string", value: "DURATION", default: "24h", help: "create: how long the token is good; 0 for ever" },
  description: { type: "string", value: "TEXT", help: "create: what the token is for" },
  groups: { type: "string", value: "GROUPS", default: joinTokenGroup, help: "create: the groups of its bearer" },
  usages: { type: "string", value: "USAGES", default: tokenUsages.join(","), help: "create: what it may be used for" },
  "print-join-command": { type: "boolean", default: false, help: "create: print the command that joins a machine" },
  ...whichCluster,
} as const;

type Values = ReturnType<typeof parseFlags<typeof flags>>["values"];
const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Makes, shows and deletes the tokens by which machines join. */
export async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseFlags(args, flags);
  const [action = "", ...words] = positionals;
  const act = Object.hasOwn(actions, action) ? actions[action] : undefined;
  if (!act) throw new UserError(`say what to do: ${program} token create, list or delete`);
  await using connection = await connect(values);
  await act(connection.client, words, values);
  return 0;
}

type Action = (client: Client, words: readonly string[], values: Values) => Promise<void>;
const actions: Readonly<Record<string, Action>> = { create, list, delete: remove };

async function create(client: Client, [token, ...more]: readonly string[], values: Values): Promise<void> {
  if (more.length > 0) throw new UserError(`create takes one token or none, not ${JSON.stringify(more[0])} too`);
  if (token !== undefined) parseJoinToken(token);
  const ttlMs = durationMilliseconds(values.ttl, "ttl");
  const expiresMs = ttlMs === 0 ? undefined : systemClock.now() + ttlMs;
  const { description } = values;
  const groups = groupsOf(values.groups);
  const usages = usagesOf(values.usages);
  try {
    const made = await createJoinToken(client, { token, expiresMs, description, groups, usages });
    say(values["print-join-command"] ? await joinCommand(client, made) : made);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    throw new UserError(`there is a token ${token?.slice(0, 6)} already: delete it first, or choose another`);
  }
}

function groupsOf(text: string): string[] {
  const groups = listOf(text);
  const wrong = groups.find((group) => !/^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/.test(group));
  if (wrong === undefined) return groups;
  throw new UserError(`--groups must be groups that begin with system:bootstrappers:, not ${JSON.stringify(wrong)}`);
}

function usagesOf(text: string) {
  return listOf(text).map((word) => {
    const usage = tokenUsages.find((one) => one === word);
    if (!usage) throw new UserError(`--usages must be signing, authentication or both, not ${JSON.stringify(word)}`);
    return usage;
  });
}

/** What to run on the other machine. The cluster itself says where it is and which authority it has. */
async function joinCommand(client: Client, token: string): Promise<string> {
  const { data = {} } = await client.get(ConfigMap, { namespace: "kube-public", name: "cluster-info" });
  const { server, certificateAuthority } = readClusterInfo(data.kubeconfig ?? "");
  return `orlop agent --server ${server} --token ${token} --ca-cert-hash ${authorityHashOf(certificateAuthority)}`;
}

async function list(client: Client, words: readonly string[]): Promise<void> {
  if (words.length > 0) throw new UserError(`list takes no words, not ${JSON.stringify(words[0])}`);
  const rows = (await listJoinTokens(client)).map((secret) => {
    const { id, secret: rest, expiresMs, authenticates, signs, extraGroups } = readBootstrapToken(secret);
    const usages = [...(authenticates ? ["authentication"] : []), ...(signs ? ["signing"] : [])];
    const about = Buffer.from(secret.data?.description ?? "", "base64").toString();
    return [`${id}.${rest}`, untilText(expiresMs), usages.join(","), about, extraGroups].map(
      (cell) => cell || "<none>",
    );
  });
  const table = [["TOKEN", "EXPIRES", "USAGES", "DESCRIPTION", "GROUPS"], ...rows].map((row) => row.map(printable));
  const widths = table[0]?.map((_, at) => Math.max(...table.map((row) => row[at]?.length ?? 0))) ?? [];
  for (const row of table)
    say(
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

function untilText(expiresMs: number): string {
  if (expiresMs === Infinity) return "never";
  return expiresMs <= systemClock.now() ? "expired" : new Date(expiresMs).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Others may have written it, and a terminal obeys what it is shown. */
const printable = (text: string): string => text.slice(0, 200).replaceAll(/[^\x20-\x7e\u00a0-\uffff]/g, "?");

async function remove(client: Client, words: readonly string[]): Promise<void> {
  if (words.length === 0) throw new UserError(`name the tokens: ${program} token delete ID`);
  for (const word of words) {
    const id = word.split(".")[0] ?? "";
    if (!bootstrapTokenId.test(id))
      throw new UserError(`the id of a token has six letters or digits, not ${JSON.stringify(word)}`);
    try {
      await client.delete(Secret, { namespace: bootstrapTokenNamespace, name: `${bootstrapTokenPrefix}${id}` });
    } catch (error) {
      throw isNotFound(error) ? new UserError(`there is no token ${id}`) : error;
    }
    say(`deleted the token ${id}`);
  }
}
