import type { Turn } from '../../providers/index.js';
import type { RandomFor } from '../answer/plan-answer.js';
import type { Plan, Step } from '../step.js';
import { findApproval, findAskingStep } from './approvals.js';
import type { ScriptStep, ScriptTurn } from './script-file.js';
import { ScriptWriter } from './script-writer.js';

/** Options of planScript. */
export interface ScriptPlay {
  /** Whether to wait for the `at` of steps. */
  readonly keepTime: boolean;
  /** Maximum output tokens. */
  readonly limit: number;
  readonly randomFor: RandomFor;
}

/** Plans a turn of a script. */
export function planScript(script: ScriptTurn, turn: Turn, { keepTime, limit, randomFor }: ScriptPlay): Plan {
  const all = [...listSteps(script)];
  const approval = findApproval(turn.context);
  // The steps before it were played when the approval was asked for.
  const resumed = approval === null ? -1 : findAskingStep(all, approval);
  const writer = new ScriptWriter(turn, limit, randomFor, { steps: all, approval: resumed === -1 ? null : approval });
  const steps: Step[] = [];
  let elapsedMs = 0;
  // Raw events report their own usage, or the service counts their tokens.
  let isRaw = false;
  for (const { at = elapsedMs, ...step } of all.slice(Math.max(0, resumed))) {
    if (keepTime && at > elapsedMs) steps.push({ type: 'pause', ms: at - elapsedMs });
    elapsedMs = Math.max(elapsedMs, at) + (step.delay ?? 0);
    for (const happening of writer.write(step)) steps.push(happening);
    isRaw ||= step.events !== undefined;
    if (writer.isFull || writer.isAsking) break;
  }
  const reason = writer.isFull ? 'length' : (script.finish ?? 'stop');
  if (!steps.some(({ type }) => type === 'finish')) steps.push({ type: 'finish', reason });
  return { steps, written: isRaw ? null : writer.written };
}

/** Whether a turn sets the times of its steps. */
export function isTimed({ steps = [] }: ScriptTurn): boolean {
  return steps.some(({ at }) => at !== undefined);
}

/** The steps of a turn, including its short form. */
export function* listSteps(turn: ScriptTurn): Generator<ScriptStep> {
  const { delay, reasoning, search, files, code, image, mcp, text, calls = [], error, cut, steps = [] } = turn;
  if (delay !== undefined) yield { delay };
  if (reasoning !== undefined) yield { reasoning };
  if (search !== undefined) yield { search };
  if (files !== undefined) yield { files };
  if (code !== undefined) yield { code };
  if (image !== undefined) yield { image };
  if (mcp !== undefined) yield { mcp };
  if (text !== undefined) yield { text };
  for (const call of calls) yield { call };
  yield* steps;
  if (error !== undefined) yield { error };
  if (cut !== undefined) yield { cut };
}
