/** What the checks of a cluster look for, compared with the manifests. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { saidBy } from '../../../src/cli/check/facts.ts';
import * as installed from '../../../src/show/checks/installed.ts';

const MANIFESTS = path.join(import.meta.dirname, '..', '..', '..', 'manifests');

interface ManifestObject {
  readonly kind?: string;
  readonly metadata?: { readonly name: string; readonly namespace?: string };
  readonly spec?: { readonly versions: readonly { readonly name: string; readonly schema: unknown }[] };
}

/** The objects of the files of the manifests. */
async function manifestObjects(...files: readonly string[]): Promise<readonly ManifestObject[]> {
  const found = globSync(files, { cwd: MANIFESTS });
  const texts = await Promise.all(found.map((file) => readFile(path.join(MANIFESTS, file), 'utf8')));
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as ManifestObject));
}

describe('what the checks of a cluster look for', () => {
  it('the policies and bindings say what the checks look for; with a change, the lists of installed.ts change', async () => {
    /** What each policy of a kind says, with its binding. */
    const said = async (kind: string, file = '*.yaml'): Promise<Readonly<Record<string, string>>> => {
      const objects = await manifestObjects(`policies/${file}`);
      const specs = (suffix: string): ReadonlyMap<string | undefined, unknown> => {
        const those = objects.filter((each) => each.kind === `${kind}AdmissionPolicy${suffix}`);
        return new Map(those.map(({ metadata, spec }) => [metadata?.name, spec]));
      };
      const bindings = specs('Binding');
      assert.deepEqual([...bindings.keys()], [...specs('').keys()]);
      return Object.fromEntries([...specs('')].map(([name, spec]) => [name, saidBy(spec, bindings.get(name))]));
    };
    assert.deepEqual(await said('Validating'), installed.VALIDATING_POLICIES);
    assert.deepEqual(await said('Mutating'), installed.MUTATING_POLICIES);
    assert.deepEqual(await said('Validating', 'before-1.36/refusal.yaml'), installed.REFUSAL);
  });

  it('the roles and bindings that are looked for are those of the manifests that bind accounts of nodemaint', async () => {
    const objects = await manifestObjects('{rbac,webhook}/*.yaml');
    const bound = objects.flatMap(({ kind = '', metadata }) => {
      if (!kind.endsWith('RoleBinding')) return [];
      const place = metadata?.namespace === undefined ? '' : `namespaces/${metadata.namespace}/`;
      return [`${place}${kind.toLowerCase()}s/${metadata?.name}`];
    });
    const wanted = installed.ROLES.flatMap(({ roles }) =>
      roles.map((role) => installed.withBinding(role).at(-1) ?? ''),
    );
    assert.deepEqual(bound.toSorted(), wanted.toSorted());
  });

  it('the fields that are looked for are in the custom resources of the manifests', async () => {
    const objects = await manifestObjects('crds/*.yaml');
    for (const { crd, version, fields } of installed.INSTALLED_RESOURCES) {
      const found = objects
        .find(({ metadata }) => metadata?.name === crd)
        ?.spec?.versions.find(({ name }) => name === version);
      for (const field of fields) {
        let at: unknown = (found?.schema as { openAPIV3Schema?: unknown } | undefined)?.openAPIV3Schema;
        for (const part of field.split('.'))
          at = (at as { properties?: Record<string, unknown> } | undefined)?.properties?.[part];
        assert.ok(at !== undefined, `${crd} ${field}`);
      }
    }
  });
});
