import { objectSchema } from '../../config/index.js';
import { type FinishReason, MODEL_EVENT_TYPES, type ModelEvent } from '../../providers/index.js';
import type { TranscriptPlace } from '../../providers/transcripts/index.js';
import type { ScriptCode, ScriptFileSearch, ScriptImage, ScriptMcp, ScriptSearch } from './hosted-calls.js';
import { REFUSAL_KINDS, type RefusalKind } from '../faults.js';

/** The content of a script file: the answers of a model, turn by turn. */
export interface ScriptFile {
  /** Model name, or `*` for every name. Default: the name of the file. */
  readonly model?: string;
  /** How a request selects its turn: in order, by the last user message, or by the whole transcript. */
  readonly match?: 'order' | 'last_user_message' | 'request';
  /** What advances to the next turn: each request, or the number of answers in the transcript. */
  readonly advance?: 'request' | 'conversation';
  /** What happens after the last turn; `unmatched`: as with a request that no turn matches. */
  readonly on_exhausted?: 'repeat_last' | 'error' | 'loop' | 'unmatched';
  /** Whether to wait for the `at` of steps. */
  readonly timing?: 'recorded' | 'none';
  /** What the simulated search engine finds; the first entry whose `query` is part of the search counts. */
  readonly web?: readonly ScriptWeb[];
  readonly turns: readonly ScriptTurn[];
}

/** What a search of the web finds, or why it fails. */
interface ScriptWeb {
  /** Part of the search, whatever the case of its letters. Default: every search. */
  readonly query?: string;
  readonly results?: readonly { readonly title: string; readonly url: string; readonly text?: string }[];
  readonly error?: string;
}

/** One answer. Its members take effect in the order in which they are declared here. */
export interface ScriptTurn {
  /** Condition on the last user message. A string is a part of it. */
  readonly when?: string | ScriptCondition;
  /** The transcript that the turn answers, in recordings. */
  readonly request?: TranscriptPlace;
  /** Pause before the answer, ms. */
  readonly delay?: number;
  readonly reasoning?: ScriptText;
  readonly search?: ScriptSearch;
  readonly files?: ScriptFileSearch;
  readonly code?: ScriptCode;
  readonly image?: ScriptImage;
  readonly mcp?: ScriptMcp;
  readonly text?: ScriptText;
  readonly calls?: readonly ScriptCall[];
  readonly steps?: readonly ScriptStep[];
  readonly error?: RefusalKind | ScriptError;
  /** Closes the client's connection. */
  readonly cut?: true;
  readonly finish?: FinishReason;
}

/** A text to stream token by token, or its deltas. */
export type ScriptText = string | readonly string[];

/** Conditions on the last user message, all of which must hold, ignoring case. */
export interface ScriptCondition {
  readonly contains?: string;
  readonly equals?: string;
  /** A regular expression. */
  readonly matches?: string;
}

/** A tool call: `arguments` for a function, `input` for a custom tool. */
export interface ScriptCall {
  readonly name: string;
  readonly namespace?: string;
  readonly call_id?: string;
  readonly arguments?: Readonly<Record<string, unknown>> | string;
  readonly input?: string;
}

/** An error of a kind, or with a custom code. */
export interface ScriptError {
  readonly kind?: RefusalKind;
  readonly code?: string;
  readonly message?: string;
  /** HTTP status, if nothing was sent yet. */
  readonly status?: number;
  readonly type?: string;
  readonly param?: string;
  /** Seconds. */
  readonly retry_after?: number;
}

/** A step: `at`, and exactly one of the other members. */
export interface ScriptStep {
  /** Milliseconds since the turn began. */
  readonly at?: number;
  /** Pause, ms. */
  readonly delay?: number;
  readonly reasoning?: ScriptText;
  readonly text?: ScriptText;
  readonly refusal?: ScriptText;
  readonly call?: ScriptCall;
  readonly search?: ScriptSearch;
  readonly files?: ScriptFileSearch;
  readonly code?: ScriptCode;
  readonly image?: ScriptImage;
  readonly mcp?: ScriptMcp;
  readonly error?: RefusalKind | ScriptError;
  /** Closes the client's connection. */
  readonly cut?: true;
  /** Pauses without end. */
  readonly stall?: true;
  /** Ends the model's stream without a `finish`. */
  readonly end?: true;
  /** Recorded events of a provider. */
  readonly events?: readonly ModelEvent[];
}

type Schema = Readonly<Record<string, unknown>> & { readonly type: string };

/** A schema of a string or another type; `if` limits violations to the type in question. */
function textOr(text: object, other: Schema): object {
  return { type: ['string', other.type], if: { type: 'string' }, then: text, else: other };
}

const text = textOr({}, { type: 'array', items: { type: 'string' } });
const milliseconds = { type: 'number', minimum: 0 };
const kind = { enum: REFUSAL_KINDS };

const yes = { const: true };

const error = textOr(
  kind,
  objectSchema(
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

const call = objectSchema(
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

const word = { type: 'string', minLength: 1 };
const words = { type: 'array', items: { type: 'string' } };

const fileResult = objectSchema({
  file_id: word,
  filename: { type: 'string' },
  text: { type: 'string' },
  score: { type: 'number', minimum: 0, maximum: 1 },
});

/** Hosted tools: a text, or an object with more. */
const hosted = {
  search: textOr({}, objectSchema({ query: { type: 'string' }, sources: words }, { required: ['query'] })),
  files: textOr(
    {},
    objectSchema({ query: { type: 'string' }, results: { type: 'array', items: fileResult } }, { required: ['query'] }),
  ),
  code: textOr(
    {},
    objectSchema({ code: { type: 'string' }, output: { type: 'string' }, container: word }, { required: ['code'] }),
  ),
  image: textOr(
    {},
    objectSchema(
      {
        prompt: { type: 'string' },
        result: { type: 'string' },
        partial: words,
        format: { enum: ['png', 'webp', 'jpeg'] },
        size: word,
      },
      { required: ['prompt'] },
    ),
  ),
  mcp: textOr(
    { pattern: '^[^.]+\\..+$', description: 'must be server.tool' },
    objectSchema(
      {
        server: word,
        tool: word,
        arguments: { type: 'object' },
        output: { type: 'string' },
        error: { type: 'string' },
        approval: { type: 'boolean' },
      },
      { required: ['server', 'tool'] },
    ),
  ),
};

const happenings = {
  ...hosted,
  delay: milliseconds,
  reasoning: text,
  text,
  refusal: text,
  call,
  error,
  cut: yes,
  stall: yes,
};

const HAPPENINGS = [...Object.keys(happenings), 'end', 'events'];

const step = objectSchema(
  { at: milliseconds, ...happenings, end: yes, events },
  {
    oneOf: HAPPENINGS.map((name) => ({ required: [name] })),
    description: `must be exactly one of ${HAPPENINGS.join(', ')}`,
  },
);

const condition = objectSchema(
  { contains: { type: 'string' }, equals: { type: 'string' }, matches: { type: 'string', format: 'regex' } },
  { minProperties: 1 },
);

/** The JSON Schema of a ScriptTurn. */
export const TURN_SCHEMA = objectSchema(
  {
    when: textOr({}, condition),
    request: objectSchema(
      { conversation: { type: 'string' }, user: { type: 'string' }, answers: { type: 'integer', minimum: 0 } },
      { required: ['conversation', 'user', 'answers'] },
    ),
    delay: milliseconds,
    reasoning: text,
    ...hosted,
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
export const SCRIPT_SCHEMA = objectSchema(
  {
    model: { type: 'string', minLength: 1 },
    match: { enum: ['order', 'last_user_message', 'request'] },
    advance: { enum: ['request', 'conversation'] },
    on_exhausted: { enum: ['repeat_last', 'error', 'loop', 'unmatched'] },
    timing: { enum: ['recorded', 'none'] },
    web: {
      type: 'array',
      items: objectSchema(
        {
          query: { type: 'string' },
          results: {
            type: 'array',
            items: objectSchema(
              { title: { type: 'string' }, url: word, text: { type: 'string' } },
              { required: ['title', 'url'] },
            ),
          },
          error: word,
        },
        { oneOf: [{ required: ['results'] }, { required: ['error'] }], description: 'must have results or error' },
      ),
    },
    turns: { type: 'array', items: TURN_SCHEMA, minItems: 1 },
  },
  { required: ['turns'] },
);
