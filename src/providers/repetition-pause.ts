/** The pause before the first repetition; it doubles with each further one. */
const FIRST_PAUSE_MS = 200;

/** Spread of the pauses around their middle, so that clients of a failed server do not return at the same moment. */
const SPREAD = 0.2;

/** The pause before a repetition, ms: 200, 400, 800 …, each 10 % more or less. `repetition` counts from 1; `drawn` is a random number from 0 to 1. */
export function repetitionPause(repetition: number, drawn: number): number {
  return FIRST_PAUSE_MS * 2 ** (repetition - 1) * (1 - SPREAD / 2 + drawn * SPREAD);
}
