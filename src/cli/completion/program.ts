import { Argument, type Command, type Option } from 'commander';
import { examples } from '../arguments/options.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** The supported shells, and `kubectl`, whose plugins have a separate program for completion. */
const SHELLS = ['bash', 'zsh', 'fish', 'kubectl'] as const;
type Shell = (typeof SHELLS)[number];

function visibleCommands(command: Command): readonly Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((each) => each.name() !== 'help');
}

function namesOf({ long, short }: Option): readonly string[] {
  return [long, short].flatMap((name) => name ?? []);
}

/** The options that the help of a command shows. */
function shownOptions(command: Command): readonly Option[] {
  return command.options.filter(({ hidden }) => !hidden);
}

/** What can stand after a command, beside its options: its own commands, or the choices of its first argument. */
function wordsAfter(command: Command): readonly string[] {
  const own = visibleCommands(command).map((each) => each.name());
  return own.length > 0 ? own : (command.registeredArguments[0]?.argChoices ?? []);
}

/** A command that can stand in a line, and the words that call it. */
type Called = readonly [Command, readonly string[]];

/** The commands below another one; what is below one of them comes before it. */
function commandsBelow(parent: Command, path: readonly string[] = []): readonly Called[] {
  return visibleCommands(parent).flatMap((command): readonly Called[] => {
    const own = [...path, command.name()];
    return [...commandsBelow(command, own), [command, own]];
  });
}

/** The commands that have commands of their own, as a pattern. */
function groupsOf(root: Command): string {
  const groups = visibleCommands(root).filter((each) => visibleCommands(each).length > 0);
  return groups.map((each) => each.name()).join('|');
}

/** A function of the shells but fish, which prints what can stand in place of the word CURRENT of a line. */
function wordsFunction(root: Command): string {
  const line = (pattern: string, words: readonly string[]): string => `    ${pattern}) echo '${words.join(' ')}' ;;`;
  const lines = commandsBelow(root).flatMap(([command, path]) => {
    const verb = path.join(' ');
    const options = shownOptions(command);
    const flags = options.flatMap(({ long }) => long ?? []);
    const values = options.flatMap((option) => namesOf(option).map((name) => [name, option.argChoices ?? []] as const));
    const known = values.filter(([, choices]) => choices.length > 0);
    return [
      ...known.map(([name, choices]) => line(`"${verb} ${name} "*`, choices)),
      line(`"${verb} "*" -"*`, flags),
      line(`"${verb} "*`, wordsAfter(command)),
    ];
  });
  return `# What can stand in place of the last word: _nodemaint_words COMMAND PREVIOUS CURRENT
_nodemaint_words() {
  case "$1 $2 $3" in
${[line('" "*', wordsAfter(root)), ...lines].join('\n')}
  esac
}`;
}

function bash(root: Command): string {
  return `# bash completion for nodemaint; load it with: source <(nodemaint completion bash)
${wordsFunction(root)}
_nodemaint() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" command=
  [[ $COMP_CWORD -eq 1 ]] || command="\${COMP_WORDS[1]}"
  [[ $COMP_CWORD -le 2 || ! $command =~ ^(${groupsOf(root)})$ ]] || command+=" \${COMP_WORDS[2]}"
  COMPREPLY=($(compgen -W "$(_nodemaint_words "$command" "\${COMP_WORDS[COMP_CWORD-1]}" "$cur")" -- "$cur"))
  [[ \${#COMPREPLY[@]} -gt 0 ]] || compopt -o default 2>/dev/null
}
complete -F _nodemaint nodemaint
`;
}

function zsh(root: Command): string {
  return `#compdef nodemaint
# zsh completion for nodemaint; load it with: source <(nodemaint completion zsh)
${wordsFunction(root)}
_nodemaint() {
  local command=
  (( CURRENT == 2 )) || command=$words[2]
  (( CURRENT <= 3 )) || [[ $command != (${groupsOf(root)}) ]] || command+=" $words[3]"
  local -a found=(\${=$(_nodemaint_words "$command" "$words[CURRENT-1]" "$words[CURRENT]")})
  if (( $#found )); then compadd -a found; else _files; fi
}
compdef _nodemaint nodemaint
`;
}

function fish(root: Command): string {
  const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
  const lines = commandsBelow(root).flatMap(([command, path]) => {
    const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`);
    const within = `complete -c nodemaint -n '${seen.join('; and ')}'`;
    const before = path.length === 1 ? '__fish_use_subcommand' : (seen[0] ?? '');
    const choices = command.registeredArguments[0]?.argChoices ?? [];
    return [
      `complete -c nodemaint -n '${before}' -a ${command.name()} -d ${quoted(command.summary() || command.description())}`,
      ...(choices.length === 0 ? [] : [`${within} -a '${choices.join(' ')}'`]),
      ...shownOptions(command).map(({ long, short, required, argChoices, description }) => {
        const names = [
          long === undefined ? '' : ` -l ${long.slice(2)}`,
          short === undefined ? '' : ` -s ${short.slice(1)}`,
        ];
        const value = argChoices === undefined ? (required ? ' -r -F' : '') : ` -x -a '${argChoices.join(' ')}'`;
        return `${within}${names.join('')}${value} -d ${quoted(description)}`;
      }),
    ];
  });
  return `# fish completion for nodemaint; load it with: nodemaint completion fish | source
complete -c nodemaint -f
${lines.join('\n')}
`;
}

/** The program that kubectl asks: one word a line, and at the end cobra's directive, 4 for no names of files. */
function kubectl(root: Command): string {
  return `#!/bin/sh
# Completion of "kubectl nodemaint"; put it into the PATH as kubectl_complete-nodemaint, executable.
${wordsFunction(root)}
command= previous= current= directive=0
[ $# -le 1 ] || command=$1
case $command in ${groupsOf(root)}) [ $# -le 2 ] || command="$1 $2" ;; esac
for word; do previous=$current current=$word; done
for word in $(_nodemaint_words "$command" "$previous" "$current"); do
  case $word in "$current"*) echo "$word"; directive=4 ;; esac
done
echo ":$directive"
`;
}

/** The script that a shell loads: the words of the command line `root`, none that a cluster would have to be asked for. */
export function completionScript(shell: Shell, root: Command): string {
  return { bash, zsh, fish, kubectl }[shell](root);
}

/** Adds the command that prints the completion script of a shell. */
export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .description('print the completion script of a shell, or that of "kubectl nodemaint"')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      ...examples('source <(nodemaint completion bash)', 'nodemaint completion kubectl > kubectl_complete-nodemaint'),
    )
    .action((shell: Shell) => {
      terminal.write(completionScript(shell, program));
    });
}
