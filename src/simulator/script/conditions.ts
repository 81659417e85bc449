import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import { runBounded } from '../run-bounded.js';
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

/** Time limit for all conditions of a script, ms: expressions may backtrack without end. */
const LONGEST_MATCH_MS = 100;

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

/** The turns whose condition matches a message. If expressions exceed the time limit, only turns without one are tested. */
export function findByMessage(conditions: readonly Condition[], message: string): readonly ScriptTurn[] {
  if (!conditions.some(({ hasExpression }) => hasExpression)) return listTurns(conditions, message);
  try {
    return runBounded(() => listTurns(conditions, message), LONGEST_MATCH_MS);
  } catch (error) {
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
  const expression = matches === undefined ? undefined : new RegExp(matches, 'iu');
  return (message, lower) => {
    if (part !== undefined && !lower.includes(part)) return false;
    if (whole !== undefined && lower !== whole) return false;
    return expression === undefined || expression.test(message);
  };
}
