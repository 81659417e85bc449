import { ModelError, type ModelEvent } from '../../src/index.js';
import { type ParityTurn, usage } from './parity-turn.js';
import { PARITY_TURNS } from './parity-turns.js';

const text: ModelEvent = { type: 'text', delta: 'I was about to' };

/** Turns that begin, and are recorded however they end. */
const BEGUN_TURNS: readonly ParityTurn[] = [
  {
    name: 'single events, empty batches and long ones',
    async *model() {
      yield { type: 'text', delta: 'One ' };
      yield [];
      yield Array.from({ length: 40 }, (_, index): ModelEvent => ({ type: 'text', delta: `${index} ` }));
      yield usage;
      yield { type: 'finish', reason: 'stop' };
    },
    expected: { status: 'completed' },
  },
  {
    name: 'usage in pieces, the last of them behind the text',
    model: [{ type: 'usage', input: 5 }, text, { type: 'usage', input: 6, output: 3 }],
    expected: { usage: { input_tokens: 11, output_tokens: 3 } },
  },
  {
    name: 'what follows the end in its batch',
    model: [text, { type: 'finish', reason: 'stop' }, { type: 'text', delta: 'too late' }],
    expected: { status: 'completed', output: [{ content: [{ text: 'I was about to' }] }] },
  },
  {
    name: 'headers and ids of the upstream, which are not recorded',
    model: [{ type: 'metadata', headers: { 'x-secret': 'header-secret' }, upstreamId: 'resp_upstream' }, text, usage],
    expected: { status: 'completed' },
  },
  {
    name: 'a stream that ends early',
    async *model() {
      yield [text, usage];
    },
    expected: { status: 'failed', error: { code: 'server_error' } },
  },
  {
    name: 'an error in the middle that was not meant for clients',
    async *model() {
      yield text;
      throw new Error('secret of the provider');
    },
    expected: { status: 'failed', error: { code: 'server_error' } },
  },
  {
    name: 'a failure with a code of its own in the middle',
    async *model() {
      yield text;
      throw new ModelError('acme_overheated', 'Acme is hot.', { status: 529, retryAfterMs: 2500, param: 'input' });
    },
    expected: { status: 'failed', error: { code: 'acme_overheated', message: 'Acme is hot.' } },
  },
];

/** Turns that a recording must give back as they were. */
export const RECORDED_TURNS: readonly ParityTurn[] = [...PARITY_TURNS, ...BEGUN_TURNS];

/** What a model may refuse with before it has begun, and what the client is told. */
export const RECORDED_REFUSALS: readonly (readonly [what: string, error: unknown, expected: object])[] = [
  [
    'a rate limit',
    new ModelError('rate_limit_exceeded', 'Acme is busy.', { status: 429, retryAfterMs: 1500 }),
    { status: 429, retryAfter: '2', error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } },
  ],
  [
    'a wait of nothing',
    new ModelError('server_is_overloaded', 'Acme is full.', { status: 503, retryAfterMs: 0 }),
    { status: 503, retryAfter: '0', error: { code: 'server_is_overloaded' } },
  ],
  [
    'a parameter at fault',
    new ModelError('context_length_exceeded', 'Too long.', { status: 400, param: 'input' }),
    { status: 400, retryAfter: null, error: { type: 'invalid_request_error', param: 'input', message: 'Too long.' } },
  ],
  [
    'a type of its own',
    new ModelError('acme_error', 'Acme says no.', { status: 418, type: 'acme' }),
    { status: 418, error: { type: 'acme', code: 'acme_error', param: null } },
  ],
  [
    'an error that was not meant for clients',
    new Error('secret of the provider'),
    { status: 500, retryAfter: null, error: { type: 'server_error', param: null } },
  ],
  ['nothing but a code', new ModelError('acme_error', ''), { status: 500, error: { code: 'acme_error', message: '' } }],
  [
    'a status that is none',
    new ModelError('acme_error', 'Fine?', { status: 200, retryAfterMs: -1 }),
    { status: 500, retryAfter: null, error: { code: 'acme_error' } },
  ],
];
