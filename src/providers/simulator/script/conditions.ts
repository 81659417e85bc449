import { Logger } from '@nestjs/common';

import { runBounded } from '../run-bounded.js';
import type { ScriptCondition, ScriptTurn } from './script-file.js';

/** Turns by what they wait for; a turn that waits for nothing is not among them. */
export interface Conditions<T> {
  readonly tests: readonly (readonly [turn: T, test: (message: string) => boolean])[];
  /** Whether a message is put to regular expressions. */
  readonly hasExpressions: boolean;
}

/** For all conditions of a script, ms: a message may be long, and an expression may backtrack for ever. */
const LONGEST_MATCH_MS = 100;

const logger = new Logger('Simulator');

/** Makes the `when` of a script's turns ready to be asked. */
export function compileConditions(turns: readonly ScriptTurn[]): Conditions<ScriptTurn> {
  const waiting = turns.filter(({ when }) => when !== undefined);
  return {
    tests: waiting.map((turn) => [turn, compile(toCondition(turn))]),
    hasExpressions: waiting.some((turn) => toCondition(turn).matches !== undefined),
  };
}

/** The turns that wait for this message. None where an expression takes too long to tell. */
export function findByMessage<T>({ tests, hasExpressions }: Conditions<T>, message: string): readonly T[] {
  const find = (): readonly T[] => tests.filter(([, test]) => test(message)).map(([turn]) => turn);
  if (!hasExpressions) return find();
  try {
    return runBounded(find, LONGEST_MATCH_MS);
  } catch (error) {
    logger.warn(`the expressions of a script were given up: ${String(error)}`);
    return [];
  }
}

function toCondition({ when }: ScriptTurn): ScriptCondition {
  return typeof when === 'string' ? { contains: when } : (when ?? {});
}

function compile({ contains, equals, matches }: ScriptCondition): (message: string) => boolean {
  const part = contains?.toLowerCase();
  const whole = equals?.trim().toLowerCase();
  const expression = matches === undefined ? undefined : new RegExp(matches, 'iu');
  return (message) => {
    const text = message.trim().toLowerCase();
    if (part !== undefined && !text.includes(part)) return false;
    if (whole !== undefined && text !== whole) return false;
    return expression === undefined || expression.test(message);
  };
}
