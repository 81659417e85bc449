import { hash } from 'node:crypto';

import type { Turn } from '../turn.js';
import type { Random } from './random.js';
import type { Target } from './target.js';
import type { TargetHealth } from './target-health.js';

/**
 * The order in which a turn tries its targets: first where its transcript was answered last, because its beginning is likely
 * to be cached there; then by its `prompt_cache_key`, which says the same of transcripts that clients keep themselves, or else by
 * chance, both according to the weights; last those that failed a moment ago.
 */
export function orderTargets(
  targets: readonly Target[],
  { parent, settings }: Turn,
  health: TargetHealth,
  random: Random,
): readonly Target[] {
  if (targets.length === 1) return targets;
  const { provider, model } = parent?.origin ?? {};
  const there = targets.filter(({ providerName }) => providerName === provider);
  const known = there.find(({ toModel }) => toModel(settings.model) === model) ?? there[0];
  const { prompt_cache_key: key } = settings;
  const left = targets.filter((target) => target !== known);
  const others = key === null ? shuffle(left, random) : rank(left, key);
  const ordered = known === undefined ? others : [known, ...others];
  const isResting = (target: Target): boolean => health.isResting(target);
  return [...ordered.filter((target) => !isResting(target)), ...ordered.filter(isResting)];
}

/** The same order for the same key, and over many keys as many turns for each as its weight says (rendezvous hashing). */
function rank(targets: readonly Target[], key: string): readonly Target[] {
  const scores = new Map(
    targets.map((target, index) => [target, -Math.log(drawn(key, target, index)) / target.weight]),
  );
  return targets.toSorted((one, other) => (scores.get(one) ?? 0) - (scores.get(other) ?? 0));
}

/** From above 0 to 1. */
function drawn(key: string, { providerName }: Target, index: number): number {
  const digest = hash('sha256', `${index} ${providerName} ${key}`).slice(0, 12);
  return (Number.parseInt(digest, 16) + 1) / 0x1_0000_0000_0000;
}

/** Draws one after the other; a target of twice the weight is drawn twice as often. */
function shuffle(targets: readonly Target[], random: Random): readonly Target[] {
  const left = [...targets];
  const drawn: Target[] = [];
  while (left.length > 0) {
    let point = random.next() * left.reduce((sum, { weight }) => sum + weight, 0);
    const index = left.findIndex(({ weight }) => (point -= weight) < 0);
    drawn.push(...left.splice(index === -1 ? left.length - 1 : index, 1));
  }
  return drawn;
}
