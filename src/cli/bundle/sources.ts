/** What a bundle is made of: each part is read by itself. */
import path from 'node:path';
import type { KubeClient, KubeResponse } from '../../kube/client.ts';
import { openStoryFiles } from '../../agent/shutdown/story-files.ts';
import type { AgentConfig } from '../../config/schema.ts';
import { kubeletParts, kubeletUnitsOf, RUNTIME_UNITS } from './kubelet.ts';
import { type BundlePart, command, file, journal, part, PART_MS, self } from './part.ts';

/** How many stories of shutdowns are in it. */
const STORIES = 5;

const UNITS = ['nodemaint.service', 'nodemaint-inhibitor.service'];
const PROPERTIES =
  'Id,LoadState,ActiveState,SubState,Result,ExecMainStatus,NRestarts,MemoryCurrent,FragmentPath,DropInPaths';

/** The newest stories of shutdowns, as one list. */
function storiesOf(stateDirectory: string): BundlePart['read'] {
  return async () => {
    const files = openStoryFiles(stateDirectory);
    const newest = (await files.list()).slice(0, STORIES);
    const texts = await Promise.all(newest.map((begunAt) => files.text(begunAt)));
    return `[${texts.join(',\n')}]\n`;
  };
}

/** What systemd and its journal say. */
function systemParts(kubeletUnits: readonly string[]): readonly BundlePart[] {
  const logind = ['cat-config', 'systemd/logind.conf', '--no-pager'];
  return [
    part(
      'log.txt',
      'the log of the last day of the agent and of its lock',
      journal('-u nodemaint -u nodemaint-inhibitor --since -24h -n 20000'.split(' ')),
    ),
    part(
      'log-warnings.txt',
      'the warnings of the last month',
      journal('-p warning -u nodemaint --since -30d -n 2000'.split(' ')),
    ),
    part(
      'units.txt',
      'the state of the units',
      command('systemctl', ['show', '-p', PROPERTIES, ...UNITS, ...kubeletUnits, ...RUNTIME_UNITS]),
    ),
    part(
      'unit-files.txt',
      "the agent's unit with its drop-ins",
      command('systemctl', ['cat', 'nodemaint.service', '--no-pager']),
    ),
    part('inhibitors.txt', 'the locks that delay a shutdown', command('systemd-inhibit', ['--list', '--no-pager'])),
    part('logind.txt', "logind's configuration", command('systemd-analyze', logind)),
    part('os-release.txt', 'the operating system', file('/etc/os-release')),
  ];
}

/** What a node's bundle has. The kubeconfig, the manifests and the environment are not read. */
export function nodeParts(configFile: string, config: AgentConfig | undefined): readonly BundlePart[] {
  const state = config?.stateDirectory ?? '/var/lib/nodemaint';
  const run = ['--run-directory', config?.runDirectory ?? '/run/nodemaint'];
  const own = ['--config', configFile];
  return [
    part('version.txt', 'the version of this program', self('version', '--client')),
    part('status.json', 'what the agent says of itself', self('status', '-o', 'json', ...run)),
    part('doctor.txt', 'the checks of this node', self('doctor', ...own)),
    part('config.yaml', "the agent's configuration", file(configFile)),
    part('config-effective.txt', 'every setting and where it comes from', self('config', 'show', '--origins', ...own)),
    part('static-pods.txt', 'the static pods, without their manifests', self('static-pods', 'list', ...own)),
    part('record.json', "the agent's record of its phase", file(path.join(state, 'record.json'))),
    part('journal.txt', "the agent's journal of moved manifests", file(path.join(state, 'journal'))),
    part('history.txt', 'the last shutdowns', self('history', ...own)),
    part('shutdowns.json', `the stories of the last ${STORIES} shutdowns`, storiesOf(state)),
    ...systemParts(kubeletUnitsOf(config)),
    // They may be long: what the agent itself says goes first.
    ...kubeletParts(config),
  ];
}

/** What the API server has at the path, or at the other one where it has nothing there. */
function objects(client: KubeClient, url: string, otherwise?: string): BundlePart['read'] {
  return async (signal) => {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(PART_MS)]);
    const read = (path: string): Promise<KubeResponse> => client.send({ method: 'GET', path }, limited);
    const first = await read(url);
    const { status, body } = first.status === 404 && otherwise !== undefined ? await read(otherwise) : first;
    if (status !== 200) throw new Error(`the API server answered HTTP ${status}`);
    return `${JSON.stringify(body, null, 1)}\n`;
  };
}

/** What a cluster's bundle has: no Secrets, no ConfigMaps, and no pods but the controller's. */
export function clusterParts(client: KubeClient, access: readonly string[]): readonly BundlePart[] {
  const group = '/apis/nodemaintenance.x-k8s.io/v1alpha1';
  const own = '/api/v1/namespaces/nodemaint-system';
  const policies = '/apis/admissionregistration.k8s.io/v1';
  return [
    {
      name: 'version.txt',
      about: 'the versions of this program, the controller and the agents',
      read: self('version', ...access),
    },
    { name: 'check.txt', about: "the checks of the cluster's side", read: self('check', ...access) },
    { name: 'nodes.txt', about: 'which nodes are guarded', read: self('nodes', '-o', 'wide', ...access) },
    {
      name: 'nodemaintenances.json',
      about: 'at most 500 maintenances',
      read: objects(client, `${group}/nodemaintenances?limit=500`),
    },
    {
      name: 'evictionrequests.json',
      about: 'at most 500 EvictionRequests',
      read: objects(client, '/apis/coordination.x-k8s.io/v1alpha1/evictionrequests?limit=500'),
    },
    { name: 'controller-pods.json', about: "the controller's pods", read: objects(client, `${own}/pods?limit=50`) },
    {
      name: 'leases.json',
      about: "the controller's Leases",
      read: objects(client, '/apis/coordination.k8s.io/v1/namespaces/nodemaint-system/leases?limit=50'),
    },
    {
      name: 'events.json',
      about: 'at most 500 Events of nodes and maintenances',
      read: objects(client, '/api/v1/namespaces/default/events?limit=500'),
    },
    {
      name: 'daemonset-gate.json',
      about: 'the policy that holds DaemonSet pods',
      // Before Kubernetes 1.36 it refuses them.
      read: objects(
        client,
        `${policies}/mutatingadmissionpolicies/nodemaint-daemonset-gate`,
        `${policies}/validatingadmissionpolicies/nodemaint-daemonset-gate`,
      ),
    },
  ];
}
