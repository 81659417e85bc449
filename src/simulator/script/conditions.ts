import { Logger } from '@nestjs/common';

import { runBounded } from '../run-bounded.js';
import type { ScriptCondition, ScriptTurn } from './script-file.js';

/** What a turn waits for; turns that wait for nothing have none. */
export interface Condition {
  readonly turn: ScriptTurn;
  /** Gets the message as it is, and in lower case. */
  readonly test: (message: string, lower: string) => boolean;
  /** Whether a regular expression is part of it. */
  readonly hasExpression: boolean;
}

/** How much of a message is looked at, in characters. */
const LONGEST_MESSAGE = 64 * 1024;

/** For all conditions of a script, ms: a message may be long, and an expression may backtrack for ever. */
const LONGEST_MATCH_MS = 100;

const logger = new Logger('Simulator');

/** Makes the `when` of a script's turns ready to be asked. */
export function compileConditions(turns: readonly ScriptTurn[]): readonly Condition[] {
  return turns
    .filter(({ when }) => when !== undefined)
    .map((turn) => {
      const condition = toCondition(turn);
      return { turn, test: compile(condition), hasExpression: condition.matches !== undefined };
    });
}

/** The turns that wait for this message. Where expressions take too long to tell, those that have none. */
export function findByMessage(conditions: readonly Condition[], message: string): readonly ScriptTurn[] {
  if (!conditions.some(({ hasExpression }) => hasExpression)) return listTurns(conditions, message);
  try {
    return runBounded(() => listTurns(conditions, message), LONGEST_MATCH_MS);
  } catch (error) {
    logger.warn(`the expressions of a script were given up: ${String(error)}`);
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
