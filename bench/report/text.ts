import type { Figure } from '../measure.ts';
import type { Spread } from '../spread.ts';

/** The median with the range. */
export function toSpreadText({ median, min, max }: Spread): string {
  return `${toNumberText(median)} (${toNumberText(min)}–${toNumberText(max)})`;
}

/** Formats with three significant digits, or all integer digits. */
export function toNumberText(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

/** The number of rounds, as a range if cases differ. */
export function countRounds(figures: readonly Figure[]): string {
  const counts = figures.map(({ service }) => service.values.length);
  return [...new Set([Math.min(...counts), Math.max(...counts)])].join('–');
}
