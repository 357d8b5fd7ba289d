export const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

export interface CommandFlags {
  readonly command: string;
  readonly summary: string;
  readonly flags: readonly { readonly flag: string; readonly help: string }[];
}

/** A script that completes commands and flags. It knows them itself, so completion starts no process. */
export function renderCompletion(shell: Shell, commands: readonly CommandFlags[]): string {
  if (shell === "fish") return fish(commands);
  const script = bash(commands);
  return shell === "bash" ? script : `autoload -U +X bashcompinit && bashcompinit\n${script}`;
}

function bash(commands: readonly CommandFlags[]): string {
  const cases = commands.map(
    ({ command, flags }) => `    ${command}) words="${flags.map(({ flag }) => `--${flag}`).join(" ")}" ;;`,
  );
  return [
    "_orlop() {",
    `  local current="\${COMP_WORDS[COMP_CWORD]}" words`,
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    words="${commands.map(({ command }) => command).join(" ")} --version --help"`,
    `  else case "\${COMP_WORDS[1]}" in`,
    ...cases,
    "  esac; fi",
    '  case "$current" in',
    '    -* | "") COMPREPLY=($(compgen -W "$words" -- "$current")) ;;',
    '    *) if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "$words" -- "$current")); else COMPREPLY=($(compgen -f -- "$current")); fi ;;',
    "  esac",
    "}",
    "complete -o filenames -F _orlop orlop ./orlop",
    "",
  ].join("\n");
}

function fish(commands: readonly CommandFlags[]): string {
  const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap(({ command, summary, flags }) => [
    `complete -c orlop -n __fish_use_subcommand -f -a ${command} -d ${quoted(summary)}`,
    ...flags.map(
      ({ flag, help }) => `complete -c orlop -n '__fish_seen_subcommand_from ${command}' -l ${flag} -d ${quoted(help)}`,
    ),
  ]);
  return `${lines.join("\n")}\n`;
}
