import type { Logprob } from '../../../protocol/index.js';
import { isObject, objectsIn, parseJson } from '../../../validation/index.js';
import type { FinishReason } from '../../model-event.js';
import { describeFailure, isFailure, readFailure, type UpstreamFailure } from '../../upstream-errors/error-body.js';
import { serverError, toModelError } from '../../upstream-errors/to-model-error.js';
import { UNREADABLE } from '../../upstream-http/exchange-error.js';
import type { THOUGHTS } from '../opaque/opaque-members.js';

/**
 * A chunk of a chat completion, in any dialect. Every member is untrusted: it may be missing, null, or of another type.
 */
export interface ChatChunk {
  readonly id?: unknown;
  readonly choices?: unknown;
  readonly usage?: unknown;
  readonly x_groq?: unknown;
  /** llama.cpp's; `cache_n` counts the tokens of the prompt that it had in its cache. */
  readonly timings?: unknown;
  readonly object?: unknown;
  readonly error?: unknown;
  readonly error_type?: unknown;
  readonly error_message?: unknown;
  /** MiniMax's: its own error, with HTTP status 200. */
  readonly base_resp?: unknown;
  /** What bodies of errors have that stand in a stream without a member `error`. */
  readonly type?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly errors?: unknown;
  readonly detail?: unknown;
  /** Perplexity's; the pages are the same in every chunk. */
  readonly citations?: unknown;
  readonly search_results?: unknown;
}

/** The members of a delta, or of a whole message, beside those of its reasoning. */
export interface ChatDelta extends Partial<Readonly<Record<(typeof THOUGHTS)[number], unknown>>> {
  readonly role?: unknown;
  readonly content?: unknown;
  /** In place of the content. */
  readonly text?: unknown;
  readonly refusal?: unknown;
  /** Sound, with its words as `transcript`. */
  readonly audio?: unknown;
  readonly tool_calls?: unknown;
  readonly tool_call?: unknown;
  readonly function_call?: unknown;
  readonly annotations?: unknown;
  readonly images?: unknown;
  readonly citations?: unknown;
  readonly search_results?: unknown;
}

/** One of `choices`. */
export interface ChatChoice {
  readonly index?: unknown;
  readonly delta?: unknown;
  readonly message?: unknown;
  readonly text?: unknown;
  readonly content?: unknown;
  readonly finish_reason?: unknown;
  readonly finishReason?: unknown;
  readonly stop_reason?: unknown;
  readonly logprobs?: unknown;
  /** Some servers have calls here instead of in the delta. */
  readonly tool_calls?: unknown;
  /** Some servers count here instead of in the chunk. */
  readonly usage?: unknown;
}

/** Characters of an upstream id. It is stored with each response, so longer ids are ignored. */
const LONGEST_ID = 256;

/** Codes of what is no error; some servers write them as text. */
const SUCCESS = /^(?:0|2\d\d|ok|success)$/i;

/** Parses a chunk or a whole completion. Throws ModelError for an error object and for invalid JSON. */
export function parseChunk(json: string, secrets: readonly string[]): ChatChunk {
  return toChunk(parse(json), secrets);
}

/** Parses a chunk, or a list of them. Throws as `parseChunk`. */
export function parseChunks(json: string, secrets: readonly string[]): readonly ChatChunk[] {
  const value = parse(json);
  const isList = Array.isArray(value) && value.length > 0;
  return isList ? value.map((each) => toChunk(each, secrets)) : [toChunk(value, secrets)];
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw serverError(UNREADABLE, cause);
  }
}

function toChunk(value: unknown, secrets: readonly string[]): ChatChunk {
  if (!isObject(value)) throw serverError(UNREADABLE, new Error('a chunk is not an object'));
  const chunk = isObject(value.choices) ? { ...value, choices: choicesIn(value.choices) } : value;
  const failed = failedPart(chunk);
  if (failed !== undefined) throw toError(describeFailure(failed), secrets);
  return chunk;
}

/** The choices in an object: the only one, or each under its number. */
function choicesIn(object: Readonly<Record<string, unknown>>): readonly unknown[] {
  return ['delta', 'message', 'text', 'finish_reason'].some((name) => name in object)
    ? [object]
    : Object.values(object);
}

/**
 * Whether the data of an event holds no part of an answer, such as a heartbeat: it is neither an object nor a list, and was not begun
 * as one.
 */
export function isIdle(data: string): boolean {
  return !/^\s*(?:\{|\[\s*[{[\]])/.test(data);
}

/** The ModelError for the data of an `error` event. */
export function parseError(text: string, secrets: readonly string[]): Error {
  return toError(readFailure(text), secrets);
}

/** The part of a chunk that says that its server failed: all of it, or its choice. */
function failedPart(chunk: ChatChunk): object | undefined {
  const { object, type, error, error_type: errorType, error_message: message, choices, base_resp: state } = chunk;
  if (object === 'error' || type === 'error' || [error, errorType, message].some(isFailure)) return chunk;
  // MiniMax's, which is in good chunks, too.
  if (isObject(state) && isErrorCode(state.status_code)) return chunk;
  if (!Array.isArray(choices)) return isRefusal(chunk) ? chunk : undefined;
  const choice: unknown = choices[0];
  return isObject(choice) && isFailure(choice.error) ? choice : undefined;
}

/** Whether a chunk without choices is the body of an error: it lists errors, or has a message with a code or a status of one. */
function isRefusal(chunk: ChatChunk): boolean {
  const { code, message, errors, detail } = chunk;
  if ([errors, detail].some(isFailure)) return true;
  if (!isFailure(message)) return false;
  return isErrorCode(code) || describeFailure(chunk).status !== null;
}

function isErrorCode(code: unknown): boolean {
  return isFailure(code) && !SUCCESS.test(String(code));
}

function toError(failure: UpstreamFailure, secrets: readonly string[]): Error {
  return toModelError(failure.status ?? 500, failure, { secrets, retryAfterMs: undefined });
}

/** The entries of `tool_calls`, which some servers write as one object, or as JSON in a text. */
export function callsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  const calls = typeof value === 'string' ? parseJson(value) : value;
  return isObject(calls) ? [calls] : objectsIn(calls);
}

/** The call in the member `function_call`, which Chat Completions had before `tool_calls`. */
export function oldCallIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return isObject(value) ? [{ index: 0, function: value }] : [];
}

/**
 * Reasons other than a normal end, by what is in their names, of which the first counts: some servers pass on those of the model's own
 * API, and Gemini's says both, as in `content_filter: RECITATION`. Any other reason, such as `stop`, `tool_calls` or `eos`, is a normal
 * end.
 */
const REASONS: readonly (readonly [name: RegExp, reason: FinishReason | 'error'])[] = [
  // The server has left out a call that it could not read.
  [/malformed_function_call|malformed_response|unexpected_tool_call/, 'error'],
  [/content_?filter|guardrail|safety|sensitive|toxic|recitation|prohibited|blocklist|spii|refusal/, 'content_filter'],
  [/length|max_(?:\w+_)?tokens|(?:token|time|error)_limit|context_window/, 'length'],
  [/^(?:error|abort(?:ed)?|(?:user_)?cancel(?:led|ed)?|timeout|network_error|insufficient_system_resource)$/, 'error'],
];

/** The reason in a choice. vLLM names what has stopped the model as `stop_reason` beside it. */
export function reasonIn({ finish_reason: reason, finishReason: otherwise, stop_reason: stop }: ChatChoice): unknown {
  return reason === undefined ? (otherwise ?? stop) : reason;
}

/** The words of a choice that has no delta and no message but a text in their place, or beside an empty one; undefined for none. */
export function wordsIn({ text, content, delta, message }: ChatChoice): string | undefined {
  if (isObject(message) || (isObject(delta) && !isEmpty(delta))) return undefined;
  return [text, content, delta, message].find((value) => typeof value === 'string');
}

/** Without a list of the members: it is asked for each delta. */
function isEmpty(delta: object): boolean {
  for (const _member in delta) return false;
  return true;
}

/** Why the model stopped: `error` if its server failed, undefined while it continues. */
export function readFinish(reason: unknown): FinishReason | 'error' | undefined {
  if (typeof reason !== 'string' || reason === '') return undefined;
  const name = nameOf(reason);
  return REASONS.find(([pattern]) => pattern.test(name))?.[1] ?? 'stop';
}

/** Whether the model stopped to call tools. */
export function endsWithCalls(reason: unknown): boolean {
  return typeof reason === 'string' && /^(?:tool|function)_(?:calls?|use)$/.test(nameOf(reason));
}

function nameOf(reason: string): string {
  return reason.toLowerCase().replace(/[-\s]/g, '_');
}

/** The log probabilities of a choice in the form of the Responses API; incomplete entries are omitted. */
export function readLogprobs(logprobs: unknown): readonly Logprob[] {
  if (!isObject(logprobs) || !Array.isArray(logprobs.content)) return [];
  return (logprobs.content as readonly unknown[]).flatMap((entry) => {
    const token = readToken(entry);
    if (token === undefined || !isObject(entry)) return [];
    const alternatives = Array.isArray(entry.top_logprobs) ? (entry.top_logprobs as readonly unknown[]) : [];
    return [{ ...token, top_logprobs: alternatives.map(readToken).filter((other) => other !== undefined) }];
  });
}

function readToken(value: unknown): Omit<Logprob, 'top_logprobs'> | undefined {
  if (!isObject(value)) return undefined;
  const { token, logprob, bytes } = value;
  if (typeof token !== 'string' || typeof logprob !== 'number') return undefined;
  const isBytes = Array.isArray(bytes) && bytes.every((byte) => typeof byte === 'number');
  return { token, logprob, bytes: isBytes ? bytes : [...Buffer.from(token, 'utf8')] };
}

/** Whether a delta has nothing but content, as most do. */
export function hasOnlyContent(delta: ChatDelta): boolean {
  for (const member in delta) if (member !== 'content' && member !== 'role') return false;
  return true;
}

/** Whether a value is an id that can be stored. */
export function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= LONGEST_ID;
}
