import type { NoticeSource } from '../../cloud/notice-source.ts';
import type { AgentConfig } from '../../config/schema.ts';
import { type MachineFacts, type Provider, providerOf } from '../../decide/notice/provider.ts';
import { describeError } from '../../errors.ts';
import type { Log } from '../../telemetry/log.ts';

interface NoticeSourceDependencies {
  readonly config: Pick<AgentConfig, 'cloud'>;
  readonly log: Log;
  /** What the firmware says of this machine. */
  readonly readMachineFacts: (signal: AbortSignal) => Promise<MachineFacts>;
}

/**
 * The sources of this machine's notices until `signal` is aborted. No metadata service is asked before the configuration or
 * the firmware has said which cloud this is; a machine in none of them does not even load what asks.
 */
export async function findNoticeSources(
  { config, log, readMachineFacts }: NoticeSourceDependencies,
  signal: AbortSignal,
): Promise<readonly NoticeSource[]> {
  const { provider: wanted, metadataUrl } = config.cloud;
  let provider: Provider | 'none' | undefined;
  try {
    provider = wanted === 'auto' ? providerOf(await readMachineFacts(signal)) : wanted;
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ reason: describeError(error) }, 'cannot tell which cloud this is; name it with cloud.provider');
  }
  if (provider === undefined || provider === 'none') return [];
  const { providerSources } = await import('../../cloud/providers.ts');
  const { sources, close } = providerSources(provider, metadataUrl);
  signal.addEventListener('abort', close, { once: true });
  return sources;
}
