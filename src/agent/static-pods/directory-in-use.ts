import { isDeepStrictEqual } from 'node:util';
import type { AgentConfig } from '../../config/schema.ts';
import type { KubeletFacts } from '../../decide/machine/kubelet-config.ts';
import { kubeletShutdownWarning } from '../../decide/machine/kubelet-graceful-shutdown.ts';
import { staticPodUrlWarning } from '../../decide/static-pod/url-pods.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import type { StateFiles } from '../../host/files/state-files.ts';
import { readInPlace } from '../../static-pods/inventory.ts';
import type { MoverPaths } from '../../static-pods/places.ts';
import { untrustedPlace } from '../../static-pods/trusted-places.ts';
import type { Log } from '../../telemetry/log.ts';
import { askKubelet, locateStaticPods, openStore } from './find-directory.ts';
import type { StaticPodStore } from './view.ts';

/** The static pods' directories, which change with the kubelet's configuration. */
export interface StaticPodLocator {
  /** The directories in use. */
  store(): StaticPodStore;
  /** Finds the directories again: the kubelet may have been restarted with another one. */
  relocate(signal: AbortSignal): Promise<void>;
  /** What is wrong with the kubelet's configuration, for people. */
  warnings(): readonly string[];
}

/** Directories that were found, and not changed yet. */
interface LocatedStaticPods {
  readonly paths: MoverPaths;
  /** Opens it for writing; call it when no other agent can be there. Throws what `openStore` throws. */
  open(): Promise<StaticPodLocator>;
}

/** What the static pods' directories are found with. */
interface LocatorDependencies {
  readonly config: AgentConfig;
  readonly state: StateFiles;
  readonly nodeName: string;
  /** Reads the configuration of the running kubelet; undefined while none runs. */
  readonly find: (signal: AbortSignal) => Promise<KubeletFacts | undefined>;
  readonly log: Log;
}

/** Logs which files are no manifests. Throws for a directory that is configured and missing; to the kubelet it is empty. */
async function warnOfInvalid(
  { config, nodeName, log }: LocatorDependencies,
  paths: MoverPaths,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { invalid } = await readInPlace(paths, nodeName, signal);
    for (const { reason } of invalid) log.warn({ reason }, 'ignoring a file that is no static pod manifest');
  } catch (error) {
    const isMissing = error instanceof NodemaintError && error.code === 'STATIC_POD_DIRECTORY_MISSING';
    if (!isMissing || config.staticPodPath !== undefined) throw error;
    log.warn({ directory: paths.staticPodPath }, 'no static pod directory yet');
  }
}

/** Finds the directories of this node's static pods. Throws for what a person has to correct before they can be used. */
export async function findStaticPods(
  dependencies: LocatorDependencies,
  signal: AbortSignal,
): Promise<LocatedStaticPods> {
  const { config, state, find, log } = dependencies;
  let kubeletWarning = '';
  let urlWarning = '';
  const locate = async (until: AbortSignal): Promise<MoverPaths> => {
    const kubelet = await askKubelet(find, log, until);
    const warning = kubelet === undefined ? '' : kubeletShutdownWarning(kubelet);
    if (warning !== '' && warning !== kubeletWarning) {
      log.warn({ reason: warning }, 'the kubelet would kill pods itself');
    }
    kubeletWarning = warning;
    const fromUrl = (kubelet && staticPodUrlWarning(kubelet)) ?? '';
    if (fromUrl !== '' && fromUrl !== urlWarning) log.warn({ reason: fromUrl }, 'static pods cannot be made to leave');
    urlWarning = fromUrl;
    return await locateStaticPods(config, state, kubelet, log);
  };
  const paths = await locate(signal);
  // The content of a directory that is not trusted is not read.
  if ((await untrustedPlace(paths)) === undefined) await warnOfInvalid(dependencies, paths, signal);
  return {
    paths,
    open: async () => {
      let store = await openStore(state, paths, log);
      return {
        store: () => store,
        relocate: async (until) => {
          const now = await locate(until);
          if (isDeepStrictEqual(now, store.paths)) return;
          try {
            store = await openStore(state, now, log);
            log.info(now, 'the static pod directory has changed');
          } catch (error) {
            // A drain continues with the directory that it knows.
            log.error({ ...now, reason: describeError(error) }, 'cannot use the new static pod directory');
          }
        },
        warnings: () => [store.refusal() ?? '', kubeletWarning, urlWarning].filter((warning) => warning !== ''),
      };
    },
  };
}
