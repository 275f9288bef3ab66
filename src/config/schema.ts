import * as z from 'zod';
import { CONFIG_API_VERSION } from '../api/names.ts';
import { PROVIDERS } from '../decide/notice/provider.ts';

const drainPlanEntry = z.strictObject({
  podType: z.enum(['Default', 'DaemonSet', 'Static']).describe('which kind of pod the entry selects'),
  podPriority: z.int().min(-2_147_483_648).max(2_147_483_647).describe('selects pods with this or a lower priority'),
  podSelector: z
    .strictObject({
      matchLabels: z.record(z.string(), z.string()).exactOptional(),
      matchExpressions: z
        .array(
          z.strictObject({
            key: z.string(),
            operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
            values: z.array(z.string()).exactOptional(),
          }),
        )
        .exactOptional(),
    })
    .exactOptional()
    .describe('selects pods by their labels'),
});

const cloud = z.strictObject({
  provider: z
    .enum(['auto', 'none', ...PROVIDERS])
    .default('auto')
    .describe('whose notices are watched; auto: as the firmware says'),
  metadataUrl: z
    .string()
    .regex(/^http:\/\/[^/?#\s]+$/, 'must be http://HOST or http://HOST:PORT')
    .exactOptional()
    .describe('another address of the metadata service'),
  leadSec: z.int().min(0).max(86_400).default(900).describe('how long before an announced reboot the drain begins'),
  rebalance: z
    .enum(['ignore', 'cordon', 'drain'])
    .default('ignore')
    .describe('what a rebalance recommendation (AWS) does'),
  freeze: z
    .enum(['ignore', 'cordon', 'drain'])
    .default('ignore')
    .describe('what an announced freeze or live migration does'),
  azureStartRequests: z
    .boolean()
    .default(false)
    .describe(
      'whether Azure is told to go on as soon as the node is drained, if the event concerns this machine alone',
    ),
});

const absolutePath = z.string().regex(/^\/\P{Cc}*$/u, 'must be an absolute path without control characters');

/**
 * The configuration file of the agent: this one schema holds every key with its default, bounds and meaning.
 * Durations carry their unit in the name.
 */
export const agentConfigSchema = z
  .strictObject({
    apiVersion: z.literal(CONFIG_API_VERSION),
    kind: z.literal('AgentConfiguration'),
    nodeName: z
      .string()
      .min(1)
      .exactOptional()
      .describe("the node's name; default: from the kubeconfig's identity, else the host name"),
    kubeconfig: z
      .string()
      .default('/etc/kubernetes/kubelet.conf')
      .describe('kubeconfig of the agent, by default the one of the kubelet; "" runs standalone, without a cluster'),
    staticPodPath: absolutePath
      .exactOptional()
      .describe("the kubelet's staticPodPath; default: as the running kubelet has it, else /etc/kubernetes/manifests"),
    kubeletHealthz: z
      .string()
      .regex(/^(?:http:\/\/\S+)?$/, 'must be http://ADDRESS:PORT/healthz or ""')
      .exactOptional()
      .describe('where the kubelet says whether it is up; default: as the running kubelet has it; "" takes it for up'),
    parkedPath: absolutePath
      .exactOptional()
      .describe(
        'where manifests lie while they are parked; best on the file system of staticPodPath, outside of it; default: beside it',
      ),
    containerRuntimeEndpoint: z
      .string()
      .regex(/^unix:\/\/\//, 'must be unix:///PATH')
      .default('unix:///run/containerd/containerd.sock')
      .describe('the CRI socket over which the agent proves that containers have ended'),
    kubeletUnit: z
      .string()
      .regex(/^([\w:.@-]+\.service)?$/, 'must be the name of a systemd service, or ""')
      .exactOptional()
      .describe(
        'the unit that a drain without an API server stops, so that pods stay down; default: the one in which the kubelet runs, else kubelet.service; "" leaves all but static pods alone then',
      ),
    stateDirectory: absolutePath.default('/var/lib/nodemaint').describe('record and journal'),
    runDirectory: absolutePath.default('/run/nodemaint').describe('control socket and the sign of life for the lock'),
    bootIdPath: absolutePath.default('/proc/sys/kernel/random/boot_id').describe('what tells one boot from the next'),
    lock: z
      .enum(['unit', 'child', 'none'])
      .default('unit')
      .describe(
        'how the delay lock is held: by the unit nodemaint-inhibitor.service, which outlives the agent; by a child process; or not at all',
      ),
    onBoot: z
      .enum(['complete', 'wait'])
      .default('complete')
      .describe("after the boot: complete the agent's own maintenance, or wait for somebody to do it"),
    apiWaitSec: z
      .int()
      .min(1)
      .max(3600)
      .default(15)
      .describe('how long a shutdown waits for an API server that does not answer before the drain goes on locally'),
    scheduledShutdownLeadSec: z
      .int()
      .min(0)
      .max(86_400)
      .default(0)
      .describe(
        'how long before its time a scheduled shutdown (`shutdown +30`) begins to drain the node; 0: at its time',
      ),
    maxHoldSec: z
      .int()
      .min(60)
      .exactOptional()
      .describe(
        'for how long a shutdown is held at most, for nodes that nobody attends; then it goes on with pods still there; default: as long as it takes',
      ),
    removeFailedPods: z
      .boolean()
      .default(false)
      .describe('after a shutdown: delete the pods of this node that the kubelet left behind as Failed because of it'),
    cloud: cloud
      .prefault({})
      .describe(
        "the cloud's notices of termination and maintenance; its keys are in [notices-and-deadlines.md](../usage/notices-and-deadlines.md)",
      ),
    triggerFile: absolutePath
      .exactOptional()
      .describe('a file that drains the node while it is there; its first line is the reason'),
    controlGroup: z
      .string()
      .regex(/^[a-z_][a-z0-9_-]{0,31}$/, 'must be the name of a group')
      .exactOptional()
      .describe('a group that may ask for the status, trigger and cancel, beside root'),
    metricsAddress: z
      .string()
      .regex(/^(\[[0-9a-fA-F:]+\]|[\w.-]*):\d{1,5}$/, 'must be ADDRESS:PORT, such as 127.0.0.1:9465')
      .exactOptional()
      .describe('where /metrics, /healthz and /readyz are served; default: nowhere'),
    hooksDirectory: absolutePath
      .default('/etc/nodemaint/hooks.d')
      .describe('programs to call when the phase changes, in pre-drain, drained, pre-release and restored'),
    hookTimeoutSec: z
      .int()
      .min(1)
      .max(600)
      .default(10)
      .describe('how long the programs of one such moment may take together; then they are killed'),
    drainPlan: z.array(drainPlanEntry).max(88).default([]).describe('entries added to the default drain plan'),
    logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('how much is logged'),
  })
  .refine((config) => config.onBoot === 'complete' || config.kubeconfig !== '', {
    path: ['onBoot'],
    error: '"wait" needs a cluster whose NodeMaintenance somebody completes; standalone has only "complete"',
  });

/** The validated configuration. */
export type AgentConfig = Readonly<z.infer<typeof agentConfigSchema>>;
