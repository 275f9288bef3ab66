/** What a person is told who writes a command line that this program does not have. */

/** The flags of `kubectl drain` that stand in most runbooks, with what does the same here. */
const OF_KUBECTL_DRAIN: ReadonlyMap<string, string> = new Map([
  ['--ignore-daemonsets', 'use --keep daemonsets,static'],
  ['--delete-local-data', 'use --delete-emptydir-data'],
  ['--force', 'use --delete-unmanaged'],
]);

/** The message of the command line's library about a wrong usage, and where the help is. */
export function usageAdvice(message: string, argv: readonly string[], commands: readonly string[]): string {
  const said = message
    .trim()
    .replace(/^error: /, '')
    // The library says this in words of its own.
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*)'\. /, "'$1' is no $2. ")
    .replace(/ is invalid\. must/, ': it must');
  const [command = ''] = argv;
  const option = /^unknown option '([^'=]+)/.exec(said)?.[1];
  const instead = command === 'drain' && option !== undefined ? OF_KUBECTL_DRAIN.get(option) : undefined;
  const advice = instead === undefined ? '' : `: ${instead}`;
  const help = commands.includes(command) ? `nodemaint ${command} --help` : 'nodemaint --help';
  return `nodemaint: ${said}${advice}\nSee: ${help}\n`;
}
