import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import { Pattern } from '../pattern/pattern.js';
import { boundWork, TooMuchWork } from '../work.js';
import type { ScriptCondition, ScriptTurn } from './script-file.js';

/** A compiled `when` of a turn. */
export interface Condition {
  readonly turn: ScriptTurn;
  /** Tests a message, given as it is and in lower case. */
  readonly test: (message: string, lower: string) => boolean;
  /** Whether it contains a regular expression. */
  readonly hasExpression: boolean;
}

/** Characters of a message that are searched. */
const LONGEST_MESSAGE = 64 * 1024;

/** Steps of all regular expressions of a script: they may backtrack almost without end. About 0.1 s. */
const MOST_STEPS = 5_000_000;

const outages = new OutageLog(new Logger('Simulator'));

/** Compiles the `when` of all turns that have one. */
export function compileConditions(turns: readonly ScriptTurn[]): readonly Condition[] {
  return turns
    .filter(({ when }) => when !== undefined)
    .map((turn) => {
      const condition = toCondition(turn);
      return { turn, test: compile(condition), hasExpression: condition.matches !== undefined };
    });
}

/** The turns whose condition matches a message. If expressions need more than MOST_STEPS, only turns without one are tested. */
export function findByMessage(conditions: readonly Condition[], message: string): readonly ScriptTurn[] {
  if (!conditions.some(({ hasExpression }) => hasExpression)) return listTurns(conditions, message);
  try {
    return boundWork(MOST_STEPS, () => listTurns(conditions, message));
  } catch (error) {
    if (!(error instanceof TooMuchWork)) throw error;
    outages.warn('ignored the regular expressions of a script', String(error));
    const plain = conditions.filter(({ hasExpression }) => !hasExpression);
    return listTurns(plain, message);
  }
}

function listTurns(conditions: readonly Condition[], message: string): readonly ScriptTurn[] {
  const searched = message.slice(0, LONGEST_MESSAGE).trim();
  const lower = searched.toLowerCase();
  return conditions.filter(({ test }) => test(searched, lower)).map(({ turn }) => turn);
}

function toCondition({ when }: ScriptTurn): ScriptCondition {
  return typeof when === 'string' ? { contains: when } : (when ?? {});
}

function compile({ contains, equals, matches }: ScriptCondition): Condition['test'] {
  const part = contains?.toLowerCase();
  const whole = equals?.trim().toLowerCase();
  const expression = matches === undefined ? undefined : new Pattern(matches, 'iu');
  return (message, lower) => {
    if (part !== undefined && !lower.includes(part)) return false;
    if (whole !== undefined && lower !== whole) return false;
    return expression === undefined || expression.test(message);
  };
}
