import type { Machine } from './machine.ts';

/** The folder in which pods tell what happens to them, a line each in the file `log`. */
export const WITNESS = '/var/witness';

const UNIT = `[Unit]
DefaultDependencies=no
[Service]
ExecStart=/bin/sh -c 'tail -n0 -F ${WITNESS}/log | systemd-cat -t witness'
[Install]
WantedBy=multi-user.target
`;

/** Makes lines that pods write reach the machine's journal, with their time. */
export async function startWitness(machine: Machine): Promise<void> {
  await machine.must(`mkdir -p ${WITNESS} && : > ${WITNESS}/log`);
  await machine.must('cat > /etc/systemd/system/witness.service', { input: UNIT });
  await machine.must('systemctl daemon-reload && systemctl enable --now witness');
}

/** What the journal's lines say that pods witnessed, in order: "NAME TERM" and "NAME END". */
export function witnessedIn(journal: readonly string[]): readonly string[] {
  return journal.flatMap((line) => /witness\[\d+\]: (\w+ (?:TERM|END))$/.exec(line)?.[1] ?? []);
}

/** Resolves when the machine has written this to its witness. */
export async function witnessed(machine: Machine, line: string, timeoutMs: number): Promise<void> {
  await waitOnMachine(machine, `grep -q '${line}' ${WITNESS}/log`, timeoutMs);
}

/** Waits on the machine itself: one connection, for each costs its processors, in software, a second. */
export async function waitOnMachine(machine: Machine, condition: string, timeoutMs: number): Promise<void> {
  const loop = `until ${condition}; do sleep 1; done`;
  const options = { timeoutMs: timeoutMs + 30_000 };
  await machine.must(['timeout', String(timeoutMs / 1000), 'sh', '-c', loop], options);
}
