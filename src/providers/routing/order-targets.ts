import type { Turn } from '../turn.js';
import type { Random } from './random.js';
import type { Target } from './target.js';
import type { TargetHealth } from './target-health.js';

/**
 * The order in which a turn tries its targets: first where its conversation was answered last, because its beginning is likely
 * to be cached there; then by chance, according to the weights; last those that failed a moment ago.
 */
export function orderTargets(
  targets: readonly Target[],
  { parent }: Turn,
  health: TargetHealth,
  random: Random,
): readonly Target[] {
  if (targets.length === 1) return targets;
  const known = targets.find(({ providerName }) => providerName === parent?.origin?.provider);
  const others = shuffle(
    targets.filter((target) => target !== known),
    random,
  );
  const ordered = known === undefined ? others : [known, ...others];
  const isResting = (target: Target): boolean => health.isResting(target);
  return [...ordered.filter((target) => !isResting(target)), ...ordered.filter(isResting)];
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
