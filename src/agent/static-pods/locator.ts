import { isDeepStrictEqual } from 'node:util';
import type { AgentConfig } from '../../config/schema.ts';
import type { KubeletFacts } from '../../decide/machine/kubelet-config.ts';
import { kubeletShutdownWarning } from '../../decide/machine/kubelet-graceful-shutdown.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import type { StateFiles } from '../../host/files/state-files.ts';
import { readInPlace } from '../../static-pods/inventory.ts';
import type { MoverPaths } from '../../static-pods/places.ts';
import { untrustedPlace } from '../../static-pods/trusted-places.ts';
import type { Log } from '../../telemetry/log.ts';
import { askKubelet, locateStaticPods, openStore } from './directory.ts';
import type { StaticPodStore } from './view.ts';

/** The static pods' place, which moves with the kubelet's configuration. */
export interface StaticPodLocator {
  /** The place in use. */
  store(): StaticPodStore;
  /** Looks again: the kubelet may have been restarted with another directory. */
  relocate(signal: AbortSignal): Promise<void>;
  /** What is wrong with the kubelet's configuration, for people. */
  warnings(): readonly string[];
}

/** A place that was looked for, and not touched yet. */
export interface LocatedStaticPods {
  readonly paths: MoverPaths;
  /** Opens it for writing; call it when no other agent can be there. Throws what `openStore` throws. */
  open(): Promise<StaticPodLocator>;
}

/** Says which files are no manifests. Throws for a directory that is configured and missing; the kubelet takes one for empty. */
async function warnOfInvalid(
  config: AgentConfig,
  paths: MoverPaths,
  nodeName: string,
  log: Log,
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

/** Looks for the place of this node's static pods. Throws for what a person has to put right before it can be used. */
export async function findStaticPods(
  config: AgentConfig,
  state: StateFiles,
  nodeName: string,
  find: (signal: AbortSignal) => Promise<KubeletFacts | undefined>,
  log: Log,
  signal: AbortSignal,
): Promise<LocatedStaticPods> {
  let kubeletWarning = '';
  const locate = async (look: AbortSignal): Promise<MoverPaths> => {
    const kubelet = await askKubelet(find, log, look);
    const warning = kubelet === undefined ? '' : kubeletShutdownWarning(kubelet);
    if (warning !== '' && warning !== kubeletWarning) {
      log.warn({ reason: warning }, 'the kubelet would kill pods itself');
    }
    kubeletWarning = warning;
    return await locateStaticPods(config, state, kubelet, log);
  };
  const paths = await locate(signal);
  // What is in a directory that is not trusted is nobody's business until it is put right.
  if ((await untrustedPlace(paths)) === undefined) await warnOfInvalid(config, paths, nodeName, log, signal);
  return {
    paths,
    open: async () => {
      let store = await openStore(state, paths, log);
      return {
        store: () => store,
        relocate: async (look) => {
          const now = await locate(look);
          if (isDeepStrictEqual(now, store.paths)) return;
          try {
            store = await openStore(state, now, log);
            log.info(now, 'the static pod directory has changed');
          } catch (error) {
            // A drain goes on with the directory that it knows.
            log.error({ ...now, reason: describeError(error) }, 'cannot use the new static pod directory');
          }
        },
        warnings: () => [store.refusal() ?? '', kubeletWarning].filter((warning) => warning !== ''),
      };
    },
  };
}
