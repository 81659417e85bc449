import type { Comparison, Goal } from '../cases/benchmark-case.ts';
import type { Figure } from '../measure.ts';
import type { Spread } from '../spread.ts';
import { toNumberText } from './text.ts';

/** A goal with its measured value. */
export interface Verdict {
  readonly goal: Goal;
  readonly spread: Spread;
  /** `≤ 1.30` */
  readonly text: string;
  readonly isMet: boolean;
}

/** Compares medians with goals. Throws an Error if a figure is missing. */
export function judge({ name, figures, goals = [] }: Comparison): readonly Verdict[] {
  return goals.map((goal) => {
    const figure = figures.find((one) => one.name === goal.figure);
    const spread = figure && toSpreadOf(goal, figure);
    if (spread === undefined) throw new Error(`${name}: no value for '${goal.figure}', ${goal.of}`);
    const { atMost, atLeast } = goal;
    const isMet = spread.median <= (atMost ?? Infinity) && spread.median >= (atLeast ?? -Infinity);
    return { goal, spread, text: toText(goal), isMet };
  });
}

function toSpreadOf({ of }: Goal, { honest, direct, ...figure }: Figure): Spread | undefined {
  if (of === 'honest ratio') return honest?.ratio;
  return of === 'added' ? direct?.serviceAdds : figure[of];
}

function toText({ atMost, atLeast }: Goal): string {
  const least = atLeast === undefined ? [] : [`≥ ${toNumberText(atLeast)}`];
  const most = atMost === undefined ? [] : [`≤ ${toNumberText(atMost)}`];
  return [...least, ...most].join(', ');
}
