import { countTokens } from '../../providers/index.js';
import type { SeededRandom } from '../seeded-random.js';
import { ADJECTIVES, NOUNS } from './words.js';

const OPENERS = [
  '',
  '',
  '',
  'In short, ',
  'As a rule, ',
  'For a start, ',
  'On most days, ',
  'In practice, ',
  'Even so, ',
];
const VERBS = ['follows', 'keeps', 'carries', 'answers', 'crosses', 'explains', 'supports', 'finds', 'shapes', 'joins'];
const ENDINGS = [
  ...['before the day begins', 'without much noise', 'for a good reason', 'in the same way', 'as the season turns'],
  ...[
    'with a little care',
    'when the light is low',
    'one step at a time',
    'and nothing is lost',
    'more often than not',
  ],
];

/** English sentences with at least `tokens` tokens in total. */
export function writeProse(random: SeededRandom, tokens: number): string {
  const sentences = [];
  for (let written = 0; written < tokens;) {
    const sentence = writeSentence(random);
    sentences.push(sentence);
    written += countTokens(sentence);
  }
  return sentences.join(' ');
}

/** English sentences without end; all but the first begin with a space. */
export function* writeSentences(random: SeededRandom): Generator<string> {
  yield writeSentence(random);
  for (;;) yield ` ${writeSentence(random)}`;
}

/** English text of exactly `count` words. */
export function writeWords(random: SeededRandom, count: number): string {
  const words: string[] = [];
  while (words.length < count) words.push(...writeSentence(random).split(' '));
  return words.slice(0, count).join(' ');
}

function writeSentence(random: SeededRandom): string {
  const subject = `the ${random.pick(ADJECTIVES)} ${random.pick(NOUNS)}`;
  const object = `the ${random.pick(NOUNS)}`;
  const sentence = `${random.pick(OPENERS)}${subject} ${random.pick(VERBS)} ${object} ${random.pick(ENDINGS)}.`;
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
