import { alibabaSources, tencentSources } from './spot-release.ts';
import { awsSources } from './aws.ts';
import { azureSources } from './azure.ts';
import { gcpSources } from './gcp.ts';
import { createMetadata, type Metadata } from './metadata.ts';
import type { NoticeSource } from './notice-source.ts';
import type { Notice } from '../decide/notice/notices.ts';
import type { Provider } from '../decide/notice/provider.ts';

/**
 * The source with notices that are gone only when two answers in a row lack them: a metadata service that has just been
 * started may say once that there is nothing to report, and that would call a drain off.
 */
export function confirmed(source: NoticeSource): NoticeSource {
  let told: readonly Notice[] = [];
  /** The notices that the last answer lacked. */
  let missing = new Set<string>();
  return {
    ...source,
    read: async (signal) => {
      const found = await source.read(signal);
      const gone = told.filter(({ id }) => !found.some((notice) => notice.id === id));
      const doubtful = gone.filter(({ id }) => !missing.has(id));
      missing = new Set(doubtful.map(({ id }) => id));
      told = [...found, ...doubtful];
      return told;
    },
  };
}

/** The address of each provider's metadata service. */
const BASES: Readonly<Record<Provider, string>> = {
  aws: 'http://169.254.169.254',
  gcp: 'http://169.254.169.254',
  azure: 'http://169.254.169.254',
  alibaba: 'http://100.100.100.200',
  tencent: 'http://metadata.tencentyun.com',
};

function sourcesOf(provider: Provider, metadata: Metadata): readonly NoticeSource[] {
  switch (provider) {
    case 'aws':
      return awsSources(metadata);
    case 'gcp':
      return gcpSources(metadata);
    case 'azure':
      return azureSources(metadata);
    case 'alibaba':
      return alibabaSources(metadata);
    case 'tencent':
      return tencentSources(metadata);
  }
}

/**
 * The sources in which the provider announces the end of a machine; `metadataUrl` is another address of its metadata service, as
 * configured. Sends no request yet.
 */
export function providerSources(
  provider: Provider,
  metadataUrl: string | undefined,
): { readonly sources: readonly NoticeSource[]; readonly close: () => void } {
  const metadata = createMetadata(metadataUrl ?? BASES[provider], metadataUrl !== undefined);
  const close = (): void => {
    metadata.close();
  };
  const sources = sourcesOf(provider, metadata);
  return { sources: sources.map((each) => (each.waitsForChange === true ? each : confirmed(each))), close };
}
