/** Command lines for people to copy. */
import type { UserAccessFlags } from '../../kube/access/user.ts';

/** A word as a shell takes it. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** The words of a command line that choose the same cluster and user. */
function accessWords(flags: UserAccessFlags): readonly string[] {
  const flag = (name: string, value: string | undefined): readonly string[] =>
    value === undefined ? [] : [name, value];
  return [
    ...flag('--kubeconfig', flags.kubeconfig),
    ...flag('--context', flags.context),
    ...flag('--as', flags.as),
    ...(flags.asGroup ?? []).flatMap((group) => flag('--as-group', group)),
  ];
}

/** Another command line with the same cluster, for people to copy. */
export function commandLine(flags: UserAccessFlags, ...words: readonly string[]): string {
  return ['nodemaint', ...[...words, ...accessWords(flags)].map(quote)].join(' ');
}
