/** The provenance of a release: from what it was made, as an in-toto statement with the predicate of SLSA. */
import packageJson from '../package.json' with { type: 'json' };
import type { ImageSource } from './oci.ts';

/** A file of the release. */
export interface Subject {
  readonly name: string;
  readonly sha256: string;
}

/** The hashes of what a release takes from others, by the name of the file. */
export interface Inputs {
  readonly node: readonly (readonly [string, string])[];
  readonly debian: readonly (readonly [string, string])[];
}

/** What the commands of the builder mean: the page of the repository that describes them. */
const BUILD_TYPE = `urn:${packageJson.name}:docs/internals/development.md`;

/**
 * The statement. It has no time and no name of a machine, so that the same commit makes the same one. Nobody but the signature
 * over the hashes of the release says who made it, so the builder is not named by more than the command.
 */
export function statementOf(subjects: readonly Subject[], inputs: Inputs, { commit, url }: ImageSource): string {
  const source = url === undefined ? `git+urn:${packageJson.name}` : `git+${url}`;
  const pinned = [...inputs.node, ...inputs.debian].map(([name, sha256]) => ({ name, digest: { sha256 } }));
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: { command: 'npm run release', version: packageJson.version },
        resolvedDependencies: [{ uri: source, digest: { gitCommit: commit } }, ...pinned],
      },
      runDetails: { builder: { id: `urn:${packageJson.name}:npm-run-release` } },
    },
  };
  return `${JSON.stringify(statement, undefined, 2)}\n`;
}
