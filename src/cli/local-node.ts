import type { AgentConfig } from '../config/schema.ts';
import type { RefusedKubelet } from '../decide/machine/kubelet-trust.ts';
import type { StateFiles } from '../host/files/state-files.ts';
import type { KubeletFinder } from '../host/kubelet/finder.ts';
import type { MoverPaths } from '../static-pods/places.ts';
import type { Log } from '../telemetry/log.ts';

/** This machine's static pods, as its agent would see them. */
export interface LocalNode {
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly bootId: string;
  readonly state: StateFiles;
  readonly paths: MoverPaths;
  readonly log: Log;
  readonly find: KubeletFinder['config'];
  readonly findHome: KubeletFinder['home'];
  /** What the last look for the kubelet did not believe. */
  readonly refusedKubelets: () => readonly RefusedKubelet[];
}
