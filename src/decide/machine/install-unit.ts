/** The unit by which the installer's pod runs install.sh on its machine. */
import { NodemaintError } from '../../errors.ts';

export const INSTALL_UNIT = 'nodemaint-install.service';

/** A word of a command line as systemd reads it (systemd.service(5), "COMMAND LINES"). */
function quoted(word: string): string {
  if (/\p{Cc}/u.test(word)) {
    throw new NodemaintError('USAGE', `the argument ${JSON.stringify(word)} has a control character; leave it out`);
  }
  return `"${word.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('%', '%%').replaceAll('$', '$$$$')}"`;
}

/**
 * The text of the unit: it runs the script with these arguments once, and writes what the script prints into `log`. It is
 * not part of the pod, so it goes on when the pod ends. Throws USAGE for an argument that no unit can have.
 */
export function installUnit(script: string, args: readonly string[], log: string): string {
  return `[Unit]
Description=Installation of node-maintenance-agent by the pod of its installer
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart=/bin/sh ${[script, ...args].map(quoted).join(' ')}
StandardOutput=file:${log}
StandardError=inherit
TimeoutStartSec=900s
`;
}
