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
