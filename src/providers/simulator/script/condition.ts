import { runBounded } from '../schema/run-bounded.js';
import type { ScriptCondition, ScriptTurn } from './script-file.js';

/** Whether a user message is the one a turn waits for. */
export type Condition = (message: string) => boolean;

/** A message may be long, and an expression may backtrack for ever, ms. */
const LONGEST_MATCH_MS = 100;

/** Makes a turn's `when` ready to be asked. */
export function compileCondition(when: ScriptTurn['when']): Condition {
  const { contains, equals, matches }: ScriptCondition = typeof when === 'string' ? { contains: when } : (when ?? {});
  const expression = matches === undefined ? undefined : new RegExp(matches, 'iu');
  return (message) => {
    const text = message.trim().toLowerCase();
    if (contains !== undefined && !text.includes(contains.toLowerCase())) return false;
    if (equals !== undefined && text !== equals.trim().toLowerCase()) return false;
    return expression === undefined || runBounded(() => expression.test(message), LONGEST_MATCH_MS);
  };
}
