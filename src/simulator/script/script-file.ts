import { type FinishReason, MODEL_EVENT_TYPES, type ModelEvent } from '../../providers/index.js';
import type { TranscriptPlace } from '../../providers/transcripts/index.js';
import { REFUSAL_KINDS, type RefusalKind } from '../faults.js';

/** A script as its file has it: what a model answers, turn by turn. */
export interface ScriptFile {
  /** The model name that it answers under, `*` for every name; the file's own name when absent. */
  readonly model?: string;
  /** How a request finds its turn: one after the other, by the last user message, or by the whole conversation. */
  readonly match?: 'order' | 'last_user_message' | 'request';
  /** What moves on to the next turn: each request, or what the conversation already holds. */
  readonly advance?: 'request' | 'conversation';
  /** What follows the last turn. */
  readonly on_exhausted?: 'repeat_last' | 'error' | 'loop';
  /** Whether steps wait for their `at`. */
  readonly timing?: 'recorded' | 'none';
  readonly turns: readonly ScriptTurn[];
}

/** One answer. What is in it happens in the order in which it stands here. */
export interface ScriptTurn {
  /** Part of the last user message that the turn answers. */
  readonly when?: string | ScriptCondition;
  /** What the turn answers; recordings have it. */
  readonly request?: TranscriptPlace;
  /** Silence first, ms. */
  readonly delay?: number;
  readonly reasoning?: ScriptText;
  readonly text?: ScriptText;
  readonly calls?: readonly ScriptCall[];
  readonly steps?: readonly ScriptStep[];
  readonly error?: RefusalKind | ScriptError;
  /** Cuts the client's connection off. */
  readonly cut?: true;
  readonly finish?: FinishReason;
}

/** A text that is streamed token by token, or the deltas it is streamed in. */
export type ScriptText = string | readonly string[];

/** What the last user message must be, all of it; letter case never matters. */
export interface ScriptCondition {
  readonly contains?: string;
  readonly equals?: string;
  /** A regular expression. */
  readonly matches?: string;
}

/** A call of a tool: of a function with `arguments`, of a custom tool with `input`. */
export interface ScriptCall {
  readonly name: string;
  readonly namespace?: string;
  readonly call_id?: string;
  readonly arguments?: Readonly<Record<string, unknown>> | string;
  readonly input?: string;
}

/** A refusal of a kind, or with a code of its own. */
export interface ScriptError {
  readonly kind?: RefusalKind;
  readonly code?: string;
  readonly message?: string;
  /** HTTP status where nothing has been said yet. */
  readonly status?: number;
  readonly type?: string;
  readonly param?: string;
  /** Seconds. */
  readonly retry_after?: number;
}

/** One thing that happens; exactly one of the members beside `at`. */
export interface ScriptStep {
  /** Milliseconds since the turn began. */
  readonly at?: number;
  /** Silence, ms. */
  readonly delay?: number;
  readonly reasoning?: ScriptText;
  readonly text?: ScriptText;
  readonly refusal?: ScriptText;
  readonly call?: ScriptCall;
  readonly error?: RefusalKind | ScriptError;
  /** Cuts the client's connection off. */
  readonly cut?: true;
  /** Silence without end. */
  readonly stall?: true;
  /** Ends the model's stream too early. */
  readonly end?: true;
  /** What a provider yielded, as it was. */
  readonly events?: readonly ModelEvent[];
}

type Schema = Readonly<Record<string, unknown>> & { readonly type: string };

/** A text, or else something of another kind; `if` keeps faults of the one from hiding those of the other. */
function textOr(text: object, other: Schema): object {
  return { type: ['string', other.type], if: { type: 'string' }, then: text, else: other };
}

const text = textOr({}, { type: 'array', items: { type: 'string' } });
const milliseconds = { type: 'number', minimum: 0 };
const kind = { enum: REFUSAL_KINDS };

const yes = { const: true };

function object(properties: object, rest: object = {}): Schema {
  return { type: 'object', properties, additionalProperties: false, ...rest };
}

const error = textOr(
  kind,
  object(
    {
      kind,
      code: { type: 'string', minLength: 1 },
      message: { type: 'string' },
      status: { type: 'integer', minimum: 400, maximum: 599 },
      type: { type: 'string' },
      param: { type: 'string' },
      retry_after: { type: 'number', minimum: 0, maximum: 1e9 },
    },
    { anyOf: [{ required: ['kind'] }, { required: ['code'] }], description: 'must have a kind or a code' },
  ),
);

const call = object(
  {
    name: { type: 'string', minLength: 1 },
    namespace: { type: 'string', minLength: 1 },
    call_id: { type: 'string', minLength: 1 },
    arguments: { type: ['object', 'string'] },
    input: { type: 'string' },
  },
  {
    required: ['name'],
    not: { required: ['arguments', 'input'] },
    description: 'must have arguments or input, and not both',
  },
);

const events = {
  type: 'array',
  items: { type: 'object', properties: { type: { enum: [...MODEL_EVENT_TYPES] } }, required: ['type'] },
};

const happenings = { delay: milliseconds, reasoning: text, text, refusal: text, call, error, cut: yes, stall: yes };

const HAPPENINGS = [...Object.keys(happenings), 'end', 'events'];

const step = object(
  { at: milliseconds, ...happenings, end: yes, events },
  {
    oneOf: HAPPENINGS.map((name) => ({ required: [name] })),
    description: `must be exactly one of ${HAPPENINGS.join(', ')}`,
  },
);

const condition = object(
  { contains: { type: 'string' }, equals: { type: 'string' }, matches: { type: 'string', format: 'regex' } },
  { minProperties: 1 },
);

const turn = object(
  {
    when: textOr({}, condition),
    request: object(
      { conversation: { type: 'string' }, user: { type: 'string' }, answers: { type: 'integer', minimum: 0 } },
      { required: ['conversation', 'user', 'answers'] },
    ),
    delay: milliseconds,
    reasoning: text,
    text,
    calls: { type: 'array', items: call },
    error,
    cut: yes,
    steps: { type: 'array', items: step },
    finish: { enum: ['stop', 'length', 'content_filter'] satisfies FinishReason[] },
  },
  { minProperties: 1 },
);

/** The JSON Schema of a ScriptFile. */
export const SCRIPT_SCHEMA = object(
  {
    model: { type: 'string', minLength: 1 },
    match: { enum: ['order', 'last_user_message', 'request'] },
    advance: { enum: ['request', 'conversation'] },
    on_exhausted: { enum: ['repeat_last', 'error', 'loop'] },
    timing: { enum: ['recorded', 'none'] },
    turns: { type: 'array', items: turn, minItems: 1 },
  },
  { required: ['turns'] },
);
