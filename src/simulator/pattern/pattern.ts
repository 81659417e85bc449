import type { SeededRandom } from '../seeded-random.js';
import { spend } from '../work.js';
import { compileProgram, type Program } from './compile-program.js';
import { drawText, measureShortest } from './draw-text.js';
import { listGroups } from './list-groups.js';
import { parsePattern } from './parse-pattern.js';
import type { PatternNode } from './pattern-node.js';
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
