import type { NoticeSource } from '../../../src/cloud/notice-source.ts';
import { providerSources } from '../../../src/cloud/providers.ts';
import type { Notice } from '../../../src/decide/notice/notices.ts';
import type { Provider } from '../../../src/decide/notice/provider.ts';
import { type MetadataServer, startMetadataServer } from './metadata-server.ts';

/** Within which a cloud of a test has answered. */
export const SIGNAL = AbortSignal.timeout(60_000);

/** The metadata service of a cloud, and the sources of notices that ask it. */
export interface Cloud extends AsyncDisposable {
  readonly server: MetadataServer;
  readonly sources: readonly NoticeSource[];
  /** What all sources have, or the message of the first that fails. */
  read(): Promise<readonly Notice[]>;
}

/** Starts a metadata service with these answers, and the sources of the provider for it. */
export async function startCloud(provider: Provider, answers: MetadataServer['answers']): Promise<Cloud> {
  const server = await startMetadataServer(answers);
  const { sources, close } = providerSources(provider, server.url);
  return {
    server,
    sources,
    read: async () => (await Promise.all(sources.map((source) => source.read(SIGNAL)))).flat(),
    [Symbol.asyncDispose]: async () => {
      close();
      await server[Symbol.asyncDispose]();
    },
  };
}
