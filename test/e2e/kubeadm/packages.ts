/** The packages kubeadm, kubelet and kubectl of two releases, with the files of those of Kubernetes, in a repository for apt. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);

type Name = 'kubeadm' | 'kubelet' | 'kubectl';

/** The programs of a release, which is as `v1.36.3`. */
export interface PackagedRelease {
  readonly version: string;
  readonly programs: Readonly<Record<Name, string>>;
}

const UNITS = 'usr/lib/systemd/system';
/** As in the repository kubernetes/release, where the packages are made. */
const FILES: Readonly<Record<Name, Readonly<Record<string, string>>>> = {
  kubectl: {},
  kubelet: {
    [`${UNITS}/kubelet.service`]: `[Unit]
Description=kubelet: The Kubernetes Node Agent
Documentation=https://kubernetes.io/docs/
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
`,
  },
  kubeadm: {
    [`${UNITS}/kubelet.service.d/10-kubeadm.conf`]: `[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`,
  },
};

async function makePackage(folder: string, name: Name, { version, programs }: PackagedRelease): Promise<string> {
  const tree = path.join(folder, `${name}-tree`);
  const bin = path.join(tree, 'usr', 'bin');
  await mkdir(bin, { recursive: true });
  await copyFile(programs[name], path.join(bin, name));
  for (const [file, text] of Object.entries(FILES[name])) {
    await mkdir(path.dirname(path.join(tree, file)), { recursive: true });
    await writeFile(path.join(tree, file), text);
  }
  const fields = [
    `Package: ${name}`,
    `Version: ${version.slice(1)}-1.1`,
    `Architecture: ${process.arch === 'arm64' ? 'arm64' : 'amd64'}`,
    'Maintainer: nodemaint test <test@nodemaint.invalid>',
    `Description: ${name} of Kubernetes`,
  ];
  await mkdir(path.join(tree, 'DEBIAN'));
  await writeFile(path.join(tree, 'DEBIAN', 'control'), `${fields.join('\n')}\n`);
  const file = `${name}_${version.slice(1)}.deb`;
  await run('dpkg-deb', ['--root-owner-group', '-Znone', '-b', tree, path.join(folder, file)]);
  await rm(tree, { recursive: true });
  const content = await readFile(path.join(folder, file));
  const sha256 = createHash('sha256').update(content).digest('hex');
  return [...fields, `Filename: ./${file}`, `Size: ${content.length}`, `SHA256: ${sha256}`, ''].join('\n');
}

/** Makes the repository in `folder`: `deb [trusted=yes] file:FOLDER ./` is its line in sources.list. */
export async function makeRepository(folder: string, releases: readonly PackagedRelease[]): Promise<void> {
  const index: string[] = [];
  for (const release of releases)
    for (const name of ['kubeadm', 'kubelet', 'kubectl'] as const) index.push(await makePackage(folder, name, release));
  await writeFile(path.join(folder, 'Packages'), index.join('\n'));
}
