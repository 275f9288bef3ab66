/** A thread that plays plans in virtual time, one at a time. */
import { readPlan } from '../../perturbation/plan.ts';
import { loadScenarios } from '../../perturbation/scenarios.ts';
import { answerInputs } from '../threads.ts';
import { playPlan } from './play.ts';
import type { PlanExchange, Played, ToPlay } from './tasks.ts';

const SCENARIOS = await loadScenarios();

async function play({ text, seed }: ToPlay): Promise<Played> {
  const begun = performance.now();
  const plan = readPlan(text);
  const scenario = SCENARIOS[plan.scenario];
  if (scenario === undefined) throw new Error(`no scenario ${plan.scenario}`);
  const { reached, finds, log } = await playPlan({ name: plan.scenario, scenario, plan }, seed);
  return { text, seed, reached, finds, log: finds.length === 0 ? [] : log, ms: performance.now() - begun };
}

answerInputs<PlanExchange>(play);
