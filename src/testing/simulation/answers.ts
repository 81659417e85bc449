import { requireSchema } from '../../config/index.js';
import {
  listSteps,
  type RefusalKind,
  type ScriptError,
  type ScriptText,
  type ScriptTurn,
  TURN_SCHEMA,
} from '../../simulator/script/index.js';
import { placeOfCaller } from './place.js';

/** An answer of a simulated model: a turn of a script (docs/simulator-scripts.md), or parts of one that follow each other. */
export type Answer = ScriptTurn | readonly ScriptTurn[];

/** Where the helpers below were called. */
const places = new WeakMap<object, string>();

/** A text, streamed token by token; a list is streamed in exactly these deltas. */
export function text(said: ScriptText): ScriptTurn {
  return placed({ text: given('text', said) });
}

/** A call of a function: `call('weather', { city: 'Oslo' })`. Arguments as a text are sent as they are, valid JSON or not. */
export function call(name: string, args: Readonly<Record<string, unknown>> | string = {}, callId?: string): ScriptTurn {
  const id = callId === undefined ? {} : { call_id: callId };
  return placed({ calls: [{ name, arguments: args, ...id }] });
}

/** A call of a custom tool. */
export function customCall(name: string, input: string, callId?: string): ScriptTurn {
  return placed({ calls: [{ name, input, ...(callId === undefined ? {} : { call_id: callId }) }] });
}

/** A refusal in the words of the model. */
export function refusal(said: ScriptText): ScriptTurn {
  return placed({ steps: [{ refusal: given('refusal', said) }] });
}

/** Reasoning, as part of an answer: `[reasoning('Oslo, so …'), text('It rains.')]`. Requests that ask for a summary see it. */
export function reasoning(thought: ScriptText): ScriptTurn {
  return placed({ reasoning: given('reasoning', thought) });
}

/** An error instead of an answer, of a kind or with a code of its own: `fail('rate_limit')`. */
export function fail(error: RefusalKind | ScriptError): ScriptTurn {
  return placed({ error: given('fail', error) });
}

/** An answer as one turn. Throws an Error for what is no turn, and for parts that say what is for a whole turn. */
export function toTurn(answer: Answer): ScriptTurn {
  // Of JavaScript, anything comes.
  if (typeof (answer as unknown) === 'string') throw new Error(`a text is text(${JSON.stringify(answer)})`);
  if (!isList(answer)) return requireSchema(answer, TURN_SCHEMA, { whole: 'it' });
  if (answer.length === 0) throw new Error('a list of parts must not be empty');
  for (const [index, part] of answer.entries()) requirePart(part, index + 1, answer.length);
  const finish = answer.at(-1)?.finish;
  const turn = { steps: answer.flatMap((part) => [...listSteps(part)]), ...(finish === undefined ? {} : { finish }) };
  return requireSchema(turn, TURN_SCHEMA, { whole: 'it' });
}

/** Members that end an answer. */
const ENDS = ['finish', 'error', 'cut'] as const;

/** Throws an Error for what is no part of an answer: it would be left out. */
function requirePart(part: ScriptTurn, number: number, count: number): void {
  const turn = requireSchema<ScriptTurn>(part, TURN_SCHEMA, { whole: `part ${number}` });
  const { when, request } = turn;
  if (when !== undefined || request !== undefined)
    throw new Error("parts of an answer cannot have 'when' or 'request'");
  const end = ENDS.find((name) => turn[name] !== undefined);
  if (end !== undefined && number < count) throw new Error(`only the last part of an answer can have '${end}'`);
}

/** Where an answer was made, if a helper has made it. */
export function placeOf(answer: Answer): string | undefined {
  const part: unknown = isList(answer) ? answer[0] : answer;
  return typeof part !== 'object' || part === null ? undefined : places.get(part);
}

function isList(answer: Answer): answer is readonly ScriptTurn[] {
  return Array.isArray(answer);
}

/** The value of a helper. Throws an Error for none, which a turn would take for a member that it does not have. */
function given<T>(helper: string, value: T | undefined): T {
  if (value === undefined) throw new Error(`${helper}() at ${placeOfCaller(2)}: expected a value, but got nothing`);
  return value;
}

/** Remembers the line that called the helper that calls this. */
function placed(turn: ScriptTurn): ScriptTurn {
  places.set(turn, placeOfCaller(2));
  return turn;
}
