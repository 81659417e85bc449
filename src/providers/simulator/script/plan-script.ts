import type { Turn } from '../../turn.js';
import { ConnectionCutError } from '../../connection-cut.js';
import { ModelError } from '../../model-error.js';

import type { RandomFor } from '../answer/plan-answer.js';
import { toSummarySteps, toTextSteps } from '../answer/to-steps.js';
import { splitIntoTokens, sumTokens, type TokenPiece } from '../answer/token-pieces.js';
import { refusalOf } from '../faults.js';
import type { Plan, Step } from '../step.js';
import type { ScriptCall, ScriptError, ScriptStep, ScriptText, ScriptTurn } from './script-file.js';

const RETRY_AFTER_SECONDS = 1;

/** What a turn of a script makes the model do. `keepTime` lets steps wait for their `at`. */
export function planScript(script: ScriptTurn, turn: Turn, keepTime: boolean, randomFor: RandomFor): Plan {
  const writer = new ScriptWriter(turn, randomFor);
  const steps: Step[] = [];
  let elapsedMs = 0;
  for (const { at = elapsedMs, ...step } of listSteps(script)) {
    if (keepTime && at > elapsedMs) steps.push({ type: 'pause', ms: at - elapsedMs });
    elapsedMs = Math.max(elapsedMs, at);
    steps.push(...writer.write(step));
  }
  const reports = steps.some(({ type }) => type === 'finish' || type === 'usage');
  if (!steps.some(({ type }) => type === 'finish')) steps.push({ type: 'finish', reason: script.finish ?? 'stop' });
  return { steps, written: reports ? null : writer.written };
}

/** Whether a turn says itself when its steps happen. */
export function isTimed({ steps = [] }: ScriptTurn): boolean {
  return steps.some(({ at }) => at !== undefined);
}

/** The short form of a turn as steps. */
function* listSteps({ delay, reasoning, text, calls = [], error, cut, steps = [] }: ScriptTurn): Generator<ScriptStep> {
  if (delay !== undefined) yield { delay };
  if (reasoning !== undefined) yield { reasoning };
  if (text !== undefined) yield { text };
  for (const call of calls) yield { call };
  yield* steps;
  if (error !== undefined) yield { error };
  if (cut !== undefined) yield { cut };
}

/** Turns steps of a script into steps of the model, and counts what is written. */
class ScriptWriter {
  private output = 0;
  private reasoning = 0;

  constructor(
    private readonly turn: Turn,
    private readonly randomFor: RandomFor,
  ) {}

  /** Tokens so far; the output includes the reasoning. */
  get written(): { readonly output: number; readonly reasoning: number } {
    return { output: this.output, reasoning: this.reasoning };
  }

  write(step: ScriptStep): Iterable<Step> {
    if (step.events !== undefined) return step.events;
    if (step.text !== undefined) return toTextSteps(this.count(step.text), this.turn, this.randomFor);
    if (step.reasoning !== undefined) return this.think(step.reasoning);
    if (step.refusal !== undefined)
      return this.count(step.refusal).map(({ text }) => ({ type: 'refusal', delta: text }));
    if (step.call !== undefined) return this.call(step.call);
    if (step.delay !== undefined) return [{ type: 'pause', ms: step.delay }];
    if (step.stall === true) return [{ type: 'pause', ms: Infinity }];
    if (step.cut === true) return [{ type: 'throw', error: new ConnectionCutError() }];
    if (step.error !== undefined) return [{ type: 'throw', error: toError(step.error, this.turn.settings.model) }];
    return [{ type: 'leave' }];
  }

  /** Readers see a summary; what a model really thinks is not shown by those that the simulator stands for. */
  private think(text: ScriptText): Iterable<Step> {
    const pieces = this.count(text);
    this.reasoning += sumTokens(pieces);
    return [{ type: 'reasoning_open' } as const, ...toSummarySteps(pieces)];
  }

  private *call({ name, namespace, call_id: callId, arguments: given = {}, input }: ScriptCall): Generator<Step> {
    const place = {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(callId === undefined ? {} : { callId }),
    };
    if (input === undefined) {
      yield { type: 'function_call', ...place };
      const text = typeof given === 'string' ? given : JSON.stringify(given);
      for (const { text: delta } of this.count(text)) yield { type: 'function_call_arguments', delta };
    } else {
      yield { type: 'custom_tool_call', ...place };
      for (const { text: delta } of this.count(input)) yield { type: 'custom_tool_call_input', delta };
    }
  }

  private count(text: ScriptText): readonly TokenPiece[] {
    const pieces =
      typeof text === 'string'
        ? splitIntoTokens(text)
        : text.map((delta) => ({ text: delta, tokens: sumTokens(splitIntoTokens(delta)) }));
    this.output += sumTokens(pieces);
    return pieces;
  }
}

function toError(error: NonNullable<ScriptStep['error']>, model: string): ModelError {
  if (typeof error === 'string') return refusalOf(error, model, RETRY_AFTER_SECONDS);
  const { kind, code, message, retry_after: seconds = RETRY_AFTER_SECONDS }: ScriptError = error;
  const usual = kind === undefined ? undefined : refusalOf(kind, model, seconds);
  const { status, type, param } = { ...usual?.options, ...error };
  return new ModelError(code ?? usual?.code ?? 'server_error', message ?? usual?.message ?? 'The script says so.', {
    ...(status === undefined ? {} : { status }),
    ...(type === undefined ? {} : { type }),
    ...(param == null ? {} : { param }),
    ...(error.retry_after === undefined && kind === undefined ? {} : { retryAfterMs: seconds * 1000 }),
  });
}
