import { hash } from 'node:crypto';

import type { Turn } from '../turn.js';
import type { Random } from './random.js';
import type { Target } from './target.js';
import type { TargetHealth } from './target-health.js';

/**
 * Orders the targets of a turn: first the target that answered the parent, whose prompt cache is likely to hold the transcript;
 * then by `prompt_cache_key`, or else at random, both by weight; last those that failed recently.
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

/** Weighted rendezvous hashing: the same order for the same key, with turns distributed by weight over many keys. */
function rank(targets: readonly Target[], key: string): readonly Target[] {
  const scores = new Map(
    targets.map((target, index) => [target, -Math.log(drawn(key, target, index)) / target.weight]),
  );
  return targets.toSorted((one, other) => (scores.get(one) ?? 0) - (scores.get(other) ?? 0));
}

/** A number above 0, up to 1. */
function drawn(key: string, { providerName }: Target, index: number): number {
  const digest = hash('sha256', `${index} ${providerName} ${key}`).slice(0, 12);
  return (Number.parseInt(digest, 16) + 1) / 0x1_0000_0000_0000;
}

/** A random order in which each position is drawn by weight. */
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
