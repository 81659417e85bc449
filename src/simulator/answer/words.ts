/** Words of simulated texts and arguments. The thread that fills schemas loads them, so nothing of the service is imported here. */
import type { SeededRandom } from '../seeded-random.js';

/** Adjectives, lowercase. */
export const ADJECTIVES = [
  'quiet',
  'early',
  'steady',
  'small',
  'bright',
  'careful',
  'old',
  'simple',
  'distant',
  'patient',
];
/** Nouns, lowercase. */
export const NOUNS = [
  ...['river', 'garden', 'lantern', 'harbor', 'meadow', 'window', 'journey', 'market', 'orchard', 'bridge', 'letter'],
  ...['morning', 'signal', 'valley', 'notebook', 'engine', 'forest', 'compass', 'kitchen', 'island', 'mountain'],
];

/** A lowercase word, safe to insert into commands and paths. */
export function pickWord(random: SeededRandom): string {
  return random.pick(random.happens(70) ? NOUNS : ADJECTIVES);
}

/** All words in random order. */
export function shuffleWords(random: SeededRandom): readonly string[] {
  return random.shuffle([...NOUNS, ...ADJECTIVES]);
}
