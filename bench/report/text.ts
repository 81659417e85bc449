import type { Figure } from '../measure.ts';
import type { Spread } from '../spread.ts';

/** The median with the range, so that nobody reads more into a number than is in it. */
export function toSpreadText({ median, min, max }: Spread): string {
  return `${toNumberText(median)} (${toNumberText(min)}–${toNumberText(max)})`;
}

/** Three digits that mean something, or all before the point. */
export function toNumberText(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

/** How many rounds there were; cases may differ. */
export function countRounds(figures: readonly Figure[]): string {
  const counts = figures.map(({ service }) => service.values.length);
  return [...new Set([Math.min(...counts), Math.max(...counts)])].join('–');
}
