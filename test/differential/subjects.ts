/** What changes are played of, each against a checkout of the product. */
import { rm } from 'node:fs/promises';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { createHelm } from '../helm/helm.ts';
import { loadController } from '../simulation/replicas.ts';
import { makeTestFolder } from '../support/folder.ts';
import { buildAdmissionRig } from '../support/rigs/admission.ts';
import { playCharts } from './chart/play.ts';
import { openChart } from './chart/product.ts';
import { playConfigurations } from './configuration/play.ts';
import { loadConfigurationProduct } from './configuration/product.ts';
import { drawMaintenance } from './objects/maintenance.ts';
import { playReal } from './objects/real.ts';
import { drawRequest } from './objects/request.ts';
import { playSimulated } from './objects/simulated.ts';
import type { Amount, Tally } from './tally.ts';

/** Plays so many sequences against the product at `root`. */
type Play = (root: string, amount: Amount, tally: Tally) => Promise<void>;

async function playChart(root: string, amount: Amount, tally: Tally): Promise<void> {
  // The control plane or helm may have to be built first, which takes minutes.
  const { signal } = new AbortController();
  const folder = await makeTestFolder('differential');
  try {
    await using controlPlane = await startControlPlane({}, signal);
    const helm = await createHelm({ folder }, signal);
    const chart = await openChart(root, { helm, folder, controlPlane });
    await playCharts(chart, amount, tally);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The product at `root` is not looked at: an API server is made with the manifests of this checkout. */
async function playObjects(_: string, amount: Amount, tally: Tally): Promise<void> {
  await using rig = await buildAdmissionRig();
  await playReal(rig.admin, [drawMaintenance, drawRequest], amount, tally);
}

/** By the words of the command line. */
export const SUBJECTS: Readonly<Record<string, Play>> = {
  configuration: async (root, amount, tally) => {
    await playConfigurations(await loadConfigurationProduct(root), amount, tally);
  },
  chart: playChart,
  maintenance: async (root, amount, tally) => {
    await playSimulated(await loadController(root), drawMaintenance, amount, tally);
  },
  objects: playObjects,
  request: async (root, amount, tally) => {
    await playSimulated(await loadController(root), drawRequest, amount, tally);
  },
};
