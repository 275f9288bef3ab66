/** What the checks of a cluster look for, compared with the manifests. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import {
  INSTALLED_RESOURCES,
  MUTATING_POLICIES,
  ROLES,
  VALIDATING_POLICIES,
  withBinding,
} from '../../../../src/show/checks/installed.ts';

const MANIFESTS = path.join(import.meta.dirname, '..', '..', '..', '..', 'manifests');

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

/** The names of the objects of a kind, in their order. */
function namesOf(objects: readonly ManifestObject[], kind: string): readonly string[] {
  return objects
    .filter((each) => each.kind === kind)
    .map(({ metadata }) => metadata?.name ?? '')
    .toSorted();
}

describe('what the checks of a cluster look for', () => {
  it('the policies and bindings that are looked for are those of the manifests', async () => {
    const objects = await manifestObjects('policies/*.yaml');
    for (const suffix of ['', 'Binding']) {
      const [validating, mutating] = ['Validating', 'Mutating'].map((kind) =>
        namesOf(objects, `${kind}AdmissionPolicy${suffix}`),
      );
      assert.deepEqual([validating, mutating], [VALIDATING_POLICIES.toSorted(), MUTATING_POLICIES.toSorted()]);
    }
  });

  it('the roles and bindings that are looked for are those of the manifests that bind accounts of nodemaint', async () => {
    const objects = await manifestObjects('{rbac,webhook}/*.yaml');
    const bound = objects.flatMap(({ kind = '', metadata }) => {
      if (!kind.endsWith('RoleBinding')) return [];
      const place = metadata?.namespace === undefined ? '' : `namespaces/${metadata.namespace}/`;
      return [`${place}${kind.toLowerCase()}s/${metadata?.name}`];
    });
    const wanted = ROLES.flatMap(({ roles }) => roles.flatMap((role) => withBinding(role)[1] ?? ''));
    assert.deepEqual(bound.toSorted(), wanted.toSorted());
  });

  it('the fields that are looked for are in the custom resources of the manifests', async () => {
    const objects = await manifestObjects('crds/*.yaml');
    for (const { crd, version, fields } of INSTALLED_RESOURCES) {
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
