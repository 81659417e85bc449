import type { Turn } from '../../providers/index.js';
import { BoundedCache } from '../bounded-cache.js';
import { LongText } from './long-text.js';
import { type Answer, type AnswerOptions, planAnswer, type RandomFor } from './plan-answer.js';

/** Characters of the texts of all remembered answers. */
const MOST_CHARACTERS = 512 * 1024;
const LONGEST_KEPT = 16 * 1024;

/** Plans answers, and remembers recent ones: seed and request determine them. */
export class RememberedAnswers {
  private readonly answers = new BoundedCache<Answer>(MOST_CHARACTERS);

  /** The answer to a turn. `identity` is that of the request and its seed. Throws like `planAnswer`. */
  async plan(turn: Turn, identity: string, options: AnswerOptions, randomFor: RandomFor): Promise<Answer> {
    const { generator, text } = options.wording;
    // The next text of a sequence is another one.
    if (generator === 'sequence') return planAnswer(turn, options, randomFor);
    const { reasoning, parallel_tool_calls: isParallel } = turn.settings;
    const { limit, eagerness } = options;
    const { length } = options.wording;
    const key = JSON.stringify([
      identity,
      turn.purpose,
      limit,
      reasoning,
      isParallel,
      eagerness,
      generator,
      text,
      length,
    ]);
    const known = this.answers.get(key);
    if (known !== undefined) return known;
    const answer = await planAnswer(turn, options, randomFor);
    const characters = lengthOf(answer);
    // Another turn may have planned the same meanwhile.
    const isNew = this.answers.get(key) === undefined;
    if (isNew && characters <= LONGEST_KEPT && !options.sink.isClosed) {
      this.answers.add(key, answer, characters);
    }
    return answer;
  }
}

function lengthOf({ parts, reasoning }: Answer): number {
  let length = reasoning?.encrypted.length ?? 0;
  for (const { text } of reasoning?.summary ?? []) length += text.length;
  for (const { pieces } of parts) {
    // Written while it is read, so that there is nothing to remember.
    if (pieces instanceof LongText) return Infinity;
    for (const { text } of pieces) length += text.length;
  }
  return length;
}
