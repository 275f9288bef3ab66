/** Ways down, as logind and systemd name them (org.freedesktop.login1(5), systemd.special(7)). */
export const SHUTDOWN_KINDS = ['poweroff', 'reboot', 'halt', 'kexec', 'soft-reboot'] as const;
export type ShutdownKind = (typeof SHUTDOWN_KINDS)[number];

/** The kind that `text` names, if it names one that will happen. */
export function shutdownKind(text: string | undefined): ShutdownKind | undefined {
  return SHUTDOWN_KINDS.find((kind) => kind === text);
}
