import type { SeededRandom } from '../seeded-random.js';
import { spend } from '../work.js';
import type { CharacterSet } from './character-set.js';
import { compileProgram, type Program } from './compile-program.js';
import { listGroups, parsePattern, type PatternNode } from './parse-pattern.js';
import { ProgramRun } from './run-program.js';

/** Steps of a test beside its instructions. */
const TEST_STEPS = 10;
/** Texts to draw until one has the right length. */
const MOST_TRIES = 24;
/** Repetitions of a part beyond those that are necessary. */
const USUAL_REPETITIONS = 4;

/**
 * A regular expression with the meaning of `RegExp`, but one that counts its steps: V8 may backtrack almost without end, and only a
 * clock could interrupt it there. Knows the flags `u`, `i`, `m` and `s`.
 */
export class Pattern {
  /** Characters of the shortest text that it matches. */
  readonly shortest: number;
  private readonly expression: RegExp;
  private readonly node: PatternNode;
  private readonly program: Program;

  /** Throws SyntaxError for an invalid pattern, and RangeError for one that nests too deeply. */
  constructor(source: string, flags: string) {
    // V8 finds the errors; it compiles nothing as long as it matches nothing.
    this.expression = new RegExp(source, flags);
    this.node = parsePattern(source, this.expression);
    this.program = compileProgram(this.node, listGroups(source).count);
    this.shortest = measureShortest(this.node);
  }

  /** Whether a part of the text matches. Spends steps, and throws TooMuchWork when none are left. */
  test(text: string): boolean {
    spend(TEST_STEPS);
    return new ProgramRun(this.program, text, this.expression.unicode).search();
  }

  /** Draws a text that it probably matches, if possible with at least and at most so many characters. Spends steps, too. */
  draw(random: SeededRandom, least: number, most: number): string {
    let text = '';
    let more = USUAL_REPETITIONS;
    let enough = most;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      text = drawText(this.node, { random, more, enough });
      if (text.length >= least && text.length <= most) break;
      if (text.length < least) more = 2 * more + 1;
      else enough -= text.length - most;
    }
    return text;
  }

  toString(): string {
    return this.expression.toString();
  }
}

/** Steps for each part of a pattern, and for each character. */
const DRAW_STEPS = 10;

/** How a text is drawn. */
interface TextSettings {
  readonly random: SeededRandom;
  /** Repetitions beyond those that are necessary. */
  readonly more: number;
  /** Characters after which only necessary parts are drawn. */
  readonly enough: number;
}

/** Draws a text that a pattern probably matches: edges and what is looked for around it are left out. */
function drawText(pattern: PatternNode, settings: TextSettings): string {
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
function measureShortest(node: PatternNode): number {
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
