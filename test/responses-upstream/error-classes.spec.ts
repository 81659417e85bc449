import { beforeEach, describe, expect, it } from '@jest/globals';

import { type DescribedService, useFreshService, useService } from '../support/describe-service.js';
import { message } from '../support/responses-upstream/items.js';
import { answering, changing, failing, preceded, refusing } from '../support/responses-upstream/reply.js';
import {
  ask,
  MODEL,
  shareTimedService,
  startTimedService,
  type TimedService,
} from '../support/responses-upstream/start-responses-service.js';
import { textOf } from '../support/output.js';
import { SocketClient } from '../support/socket-client.js';

// Each test has it load what it needs.
const loadTimed = shareTimedService();

const SSE = {};
const WEBSOCKET = { supports_websockets: true };
const FEBRUARY = { profile: 'codex-2026-02', features: { responses_websockets: true } };

const TURN = { model: MODEL, input: 'Hi' };

/** A service that the tests of a block share: each sees only its own calls of the upstream. */
function shareService(entry: object): DescribedService<TimedService> {
  const service = useService(() => startTimedService({ entry: { ...entry } }));
  beforeEach(() => {
    service.upstream.calls.length = 0;
  });
  return service;
}

const FATAL = ['context_length_exceeded', 'insufficient_quota', 'usage_not_included', 'invalid_prompt'];
const FATAL_TODAY = [
  ...FATAL,
  'credit_balance_exhausted',
  'organization_spend_limit_exceeded',
  'project_spend_limit_exceeded',
  'cyber_policy',
  'bio_policy',
  'misalignment_policy_violation',
  'content_policy_violation',
  'model_not_found',
  'flex_unavailable',
  'budget_reached',
  'inference_hook_denied',
  'access_program_not_enabled',
  'unsupported_access_program',
  'policy_capacity_unavailable',
  'invalid_audio',
  'audio_too_large',
  'server_is_overloaded',
];
const OWN = /quota|credit|spend_limit|model_not_found/;
const RETRYABLE = ['rate_limit_exceeded', 'slow_down', 'server_error', 'vector_store_timeout', 'anything_else'];

describe.each<[profile: string, entry: object, fatal: readonly string[], retryable: readonly string[]]>([
  ['codex-2026-11', {}, FATAL_TODAY, RETRYABLE],
  ['codex-2026-02', FEBRUARY, FATAL, [...RETRYABLE, 'server_is_overloaded', 'cyber_policy']],
])('§6 the codes of response.failed in %s', (_, entry, fatal, retryable) => {
  const service = shareService(entry);

  it.each(fatal)('%s is fatal, and the client gets it', async (code) => {
    service.upstream.respond(failing({ code, message: `About ${code}.` }));
    const { status, body } = await service.api.post('responses', TURN);
    expect(status).toBeGreaterThanOrEqual(400);
    // Words about this service's own account or its own list of models are not the upstream's.
    const message = OWN.test(code) ? expect.not.stringContaining(code) : `About ${code}.`;
    expect(body).toMatchObject({ error: { code, message } });
    expect(service.upstream.calls).toHaveLength(1);
  });

  it.each(retryable)('the service asks an upstream again after the code %s', async (code) => {
    service.upstream.respond(failing({ code, message: 'Hm.' }));
    expect(textOf((await ask(service)).response)).toBe('ok');
    expect(service.upstream.calls).toHaveLength(2);
  });
});

describe.each([
  ['SSE', SSE],
  ['a WebSocket', WEBSOCKET],
] as const)('§6 a rate limit behind output, over %s', (_, entry) => {
  const service = useFreshService(() => loadTimed({ entry: { ...entry } }));

  it.each([
    ['Please try again in 1m3.5s.', {}],
    ['Slow down.', { headers: { 'retry-after': '64' } }],
  ])(
    'a rate limit behind output is over when the upstream says, which Codex reads in the message: %s',
    async (words, members) => {
      const error = { code: 'rate_limit_exceeded', message: words, ...members };
      const failed = { type: 'response.failed', response: { error } };
      service.upstream.respond(changing([message('Hello')], (events) => [...events.slice(0, 5), failed]));
      expect((await ask(service)).response).toMatchObject({
        status: 'failed',
        error: {
          code: 'rate_limit_exceeded',
          message: 'Rate limit of the model reached. Please try again in 64 s.',
          headers: { 'retry-after': '64' },
        },
      });
    },
  );

  it('an overload behind output is over when the upstream says, without which Codex gives up', async () => {
    const error = { code: 'server_is_overloaded', message: 'Busy.', headers: { 'retry-after': '70' } };
    const failed = { type: 'response.failed', response: { error } };
    service.upstream.respond(changing([message('Hello')], (events) => [...events.slice(0, 5), failed]));
    const { response } = await ask(service);
    expect(response).toMatchObject({
      status: 'failed',
      error: { ...error, message: 'Busy. Please try again in 70 s.' },
    });
    const stored = await service.api.get(`responses/${response.id}`);
    expect(stored.body).toMatchObject({ error: response.error });
  });
});

describe.each([
  ['an HTTP status', SSE],
  ['an error frame', WEBSOCKET],
] as const)('§6 the class of %s', (_, entry) => {
  const service = shareService(entry);

  it.each<[status: number, error: object]>([
    [400, { code: 'invalid_value', param: 'input[0]', message: 'Bad.', type: 'invalid_request_error' }],
    [400, { code: 'invalid_prompt', message: 'Bad.', type: 'invalid_request_error' }],
    [413, { code: 'too_large', message: 'Bad.', type: 'invalid_request_error' }],
    [422, { code: 'unprocessable', message: 'Bad.', type: 'invalid_request_error' }],
    [429, { code: 'usage_not_included', message: 'Not in this plan.' }],
    [503, { code: 'server_is_overloaded', message: 'Busy.' }],
  ])('%d %j is fatal, and reaches the client', async (status, error) => {
    service.upstream.refuse(status, error);
    const answer = await service.api.post('responses', TURN);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({ error });
    expect(service.upstream.calls).toHaveLength(1);
  });

  it.each([
    [{ code: 'insufficient_quota', type: 'insufficient_quota' }, 'You exceeded your current quota.'],
    [{ code: 'rate_limit_exceeded' }, expect.stringMatching(/^Rate limit of the model reached/)],
  ])('429 %j is fatal, and told in words that do not name the account', async (error, message) => {
    service.upstream.refuse(429, { ...error, message: 'The organization org-acme has reached its limit.' });
    const answer = await service.api.post('responses', TURN);
    expect(answer).toMatchObject({ status: 429, body: { error: { ...error, message } } });
    expect(service.upstream.calls).toHaveLength(1);
  });

  it.each([
    "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
    'The prompt is too long: 5000 tokens',
  ])('a context that is too long has the code of OpenAI whatever the server calls it: %s', async (words) => {
    service.upstream.refuse(400, { message: words, type: 'BadRequestError', code: 400 });
    const { status, body } = await service.api.post('responses', TURN);
    expect([status, body]).toMatchObject([400, { error: { code: 'context_length_exceeded', param: 'input' } }]);
    expect(service.upstream.calls).toHaveLength(1);
  });

  it.each([401, 402, 403, 404])('%d is the business of this service, and fatal', async (status) => {
    service.upstream.refuse(status, { code: 'secret_code', message: 'The key of acme is wrong.' });
    const { status: shown, body } = await service.api.post('responses', TURN);
    expect(shown).toBeGreaterThanOrEqual(404);
    expect(JSON.stringify(body)).not.toMatch(/acme|secret_code/);
    expect(service.upstream.calls).toHaveLength(1);
  });

  it.each<[status: number, error: object, headers: object]>([
    [408, {}, {}],
    [409, {}, {}],
    [500, {}, {}],
    [502, {}, {}],
    [503, { code: 'slow_down', message: 'Slow down.' }, {}],
    [503, { code: 'server_is_overloaded' }, { 'retry-after': '1' }],
    [429, { code: 'rate_limit_exceeded' }, { 'retry-after': '1' }],
    [529, {}, {}],
  ])('an upstream that answers %d %j %j is asked again', async (status, error, headers) => {
    service.upstream.refuse(status, error, headers);
    expect(textOf((await ask(service)).response)).toBe('ok');
    expect(service.upstream.calls).toHaveLength(2);
  });
});

describe('§6 error frames of a socket', () => {
  const service = useFreshService(() => loadTimed({ entry: { ...WEBSOCKET } }));

  it.each<[name: string, frame: object]>([
    ['without a status', { type: 'error', error: { code: 'x', message: 'y' } }],
    ['with a status that is none of errors', { type: 'error', status: 200, error: { code: 'x', message: 'y' } }],
  ])('error frames %s are ignored', async (_, frame) => {
    service.upstream.respond(preceded(answering([message('Hello')]), { raw: JSON.stringify(frame) }));
    expect(textOf((await ask(service)).response)).toBe('Hello');
  });

  it.each(['websocket_connection_limit_reached', 'previous_response_not_found'])(
    'error frames with the code %s are retryable whatever their status is',
    async (code) => {
      service.upstream.refuse(400, { code, message: 'Gone.' });
      expect(textOf((await ask(service)).response)).toBe('ok');
      expect(service.clock.take()).toHaveLength(1);
    },
  );
});

describe('§6 statuses of a refused upgrade', () => {
  const service = useFreshService(() => loadTimed({ entry: { ...WEBSOCKET, stream_max_retries: 1 } }));

  it.each([
    [500, 2, 'ok'],
    [503, 2, 'ok'],
    [200, 2, 'ok'],
    [400, 2, 'ok'],
    [404, 2, 'ok'],
    [426, 1, 'ok'],
  ])('an upgrade that is refused with %d is tried %d times, and then HTTP', async (status, times, text) => {
    service.upstream.onEveryUpgrade(refusing(status));
    expect(textOf((await ask(service)).response)).toBe(text);
    expect(service.upstream.upgrades).toHaveLength(times);
  });

  it.each([401, 403, 429])('an upgrade that is refused with %d ends the turn', async (status) => {
    service.upstream.onEveryUpgrade(refusing(status, { code: 'no_way', message: 'No.' }));
    expect((await service.api.post('responses', TURN)).status).toBeGreaterThanOrEqual(400);
    expect(service.upstream.upgrades).toHaveLength(1);
    expect(service.upstream.calls).toHaveLength(0);
  });
});

describe('a failure of the upstream for a socket client', () => {
  const service = useFreshService(() => loadTimed({ entry: { ...WEBSOCKET, stream_max_retries: 0 } }));

  it('a failure before the first output is an error frame with its delay', async () => {
    await using client = await SocketClient.open(service);
    service.upstream.refuse(429, { code: 'insufficient_quota', message: 'Pay.', type: 'insufficient_quota' });
    const frame = await client.refusal(TURN);
    expect(frame).toMatchObject({ status: 429, error: { code: 'insufficient_quota' } });
  });
});
