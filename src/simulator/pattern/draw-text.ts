import type { SeededRandom } from '../seeded-random.js';
import { spend } from '../work.js';
import type { CharacterSet } from './character-set.js';
import type { PatternNode } from './pattern-node.js';

/** Steps for each part of a pattern, and for each character. */
const DRAW_STEPS = 10;

/** How a text is drawn. */
export interface TextSettings {
  readonly random: SeededRandom;
  /** Repetitions beyond those that are necessary. */
  readonly more: number;
  /** Characters after which only necessary parts are drawn. */
  readonly enough: number;
}

/** Draws a text that a pattern probably matches: edges and what is looked for around it are left out. */
export function drawText(pattern: PatternNode, settings: TextSettings): string {
  const { random, more, enough } = settings;
  const captured = new Map<number, string>();
  let text = '';

  function draw(node: PatternNode): void {
    spend(DRAW_STEPS);
    switch (node.type) {
      case 'character':
        text += pickCharacter(node.set);
        break;
      case 'sequence':
        for (const part of node.parts) draw(part);
        break;
      case 'choice':
        draw(random.pick(node.options));
        break;
      case 'capture': {
        const start = text.length;
        draw(node.body);
        captured.set(node.capture, text.slice(start));
        break;
      }
      case 'repeat': {
        const wanted = random.pickInteger(node.least, Math.min(node.most, node.least + more));
        for (let times = 0; times < node.least || (times < wanted && text.length < enough); times++) draw(node.body);
        break;
      }
      case 'reference':
        text += captured.get(node.captures.find((capture) => captured.has(capture)) ?? 0) ?? '';
        spend(text.length);
        break;
      case 'edge':
      case 'look':
    }
  }

  function pickCharacter({ samples }: CharacterSet): string {
    return samples.length === 0 ? '' : String.fromCodePoint(random.pick(samples));
  }

  draw(pattern);
  return text;
}

/** The characters of the shortest text that a pattern matches. */
export function measureShortest(node: PatternNode): number {
  switch (node.type) {
    case 'character':
      return 1;
    case 'sequence':
      return node.parts.reduce((sum, part) => sum + measureShortest(part), 0);
    case 'choice':
      return node.options.reduce((least, option) => Math.min(least, measureShortest(option)), Infinity);
    case 'capture':
      return measureShortest(node.body);
    case 'repeat':
      return node.least === 0 ? 0 : node.least * measureShortest(node.body);
    default:
      return 0;
  }
}
