import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { type ScriptFiles, startWithScripts } from '../support/script-files.js';
import type { Service } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { openStream, postJson } from '../support/sse.js';
import { TRANSPORTS } from '../support/transports.js';
import { message, outputText } from './parity-turn.js';

/** A refusal as a client sees it, whatever its transport. */
interface SeenRefusal {
  readonly status: unknown;
  readonly retryAfter: unknown;
  readonly error: { readonly code: string; readonly [member: string]: unknown };
}

const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);

/** Errors as a script has them, and what a client sees of them. */
const ERRORS: readonly (readonly [name: string, error: unknown, seen: SeenRefusal])[] = [
  ...([1, 7, 0.2, 0] as const).map(
    (seconds) =>
      [
        `rate_limit for ${seconds} s`,
        { kind: 'rate_limit', retry_after: seconds },
        {
          status: 429,
          retryAfter: String(Math.ceil(seconds)),
          error: {
            type: 'rate_limit_error',
            code: 'rate_limit_exceeded',
            message: matching(
              new RegExp(`^Rate limit reached for error-\\d+-\\w+\\. Please try again in ${seconds}s\\.$`),
            ),
          },
        },
      ] as const,
  ),
  [
    'rate_limit in a word',
    'rate_limit',
    { status: 429, retryAfter: '1', error: { code: 'rate_limit_exceeded', message: matching(/try again in 1s/) } },
  ],
  [
    'server_error',
    'server_error',
    {
      status: 500,
      retryAfter: '1',
      error: { type: 'server_error', code: 'server_error', message: matching(/had an error/) },
    },
  ],
  [
    'unavailable',
    'unavailable',
    { status: 503, retryAfter: '1', error: { code: 'server_is_overloaded', message: matching(/overloaded.* in 1s/) } },
  ],
  [
    'a kind in words of its own',
    {
      kind: 'rate_limit',
      message: 'Slow down.',
      code: 'insufficient_quota',
      type: 'insufficient_quota',
      retry_after: 3,
    },
    {
      status: 429,
      retryAfter: '3',
      error: { type: 'insufficient_quota', code: 'insufficient_quota', message: 'Slow down.' },
    },
  ],
  [
    'a kind with another status',
    { kind: 'server_error', status: 502 },
    { status: 502, retryAfter: '1', error: { code: 'server_error' } },
  ],
  [
    'a code of its own',
    {
      code: 'context_length_exceeded',
      message: 'Your input exceeds the context window of this model.',
      status: 400,
      param: 'input',
    },
    {
      status: 400,
      retryAfter: null,
      error: {
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
        message: 'Your input exceeds the context window of this model.',
        param: 'input',
      },
    },
  ],
  [
    'an image that only the model finds out to be none',
    { code: 'invalid_image', message: 'The image data you provided does not represent a valid image.', status: 400 },
    {
      status: 400,
      retryAfter: null,
      error: { code: 'invalid_image', message: 'The image data you provided does not represent a valid image.' },
    },
  ],
  [
    'a code and nothing else',
    { code: 'bio_policy' },
    { status: 500, retryAfter: null, error: { code: 'bio_policy', message: expect.any(String), param: null } },
  ],
];

const model = (index: number, place: string): string => `error-${index}-${place}`;

describe.each(TRANSPORTS)('an error in a script over $name', (transport) => {
  const service = useService(async () => {
    const files = ERRORS.flatMap(([, error], index) => [
      [`${model(index, 'first')}.yaml`, { turns: [{ error }] }],
      [`${model(index, 'later')}.json`, { turns: [{ text: ['I was ', 'about to'], error }] }],
      [`${model(index, 'among')}.jsonl`, { turns: [{ steps: [{ text: ['Then'] }, { error }, { text: 'never' }] }] }],
    ]);

    return startWithScripts(Object.fromEntries(files) as ScriptFiles);
  });

  const cases = ERRORS.map(([name, , seen], index) => ({ name, seen, index }));

  it.each(cases)('an error in a script refuses the request when nothing was said: $name', async ({ index, seen }) => {
    const name = model(index, 'first');
    const refusal = await refuse(transport.name, service, name);
    // On sockets this one code has a name of its own (protocol §6.3).
    const isInternal = transport.name === 'ws' && seen.error.code === 'server_error';
    const error = isInternal ? { ...seen.error, code: 'processing_error' } : seen.error;
    expect(refusal).toMatchObject({ ...seen, error });
  });

  it.each(cases)('an error in a script fails the response when something was said: $name', async ({ index, seen }) => {
    for (const [place, text] of [
      ['later', 'I was about to'],
      ['among', 'Then'],
    ] as const) {
      const name = model(index, place);
      const { response } = await transport.run(service, { model: name, input: 'Go on.' });
      const { code, message: words = expect.any(String) } = seen.error;
      expect(response).toMatchObject({
        status: 'failed',
        error: { code, message: words },
        output: [{ ...message(outputText(text)), status: 'incomplete' }],
      });
    }
  });

  it('an error in a script is gone with the next turn', async () => {
    await using own = await startWithScripts({ 'own.yaml': { turns: [{ error: 'unavailable' }, { text: 'Back.' }] } });
    await expect(transport.run(own, { model: 'own', input: 'Hello.' })).rejects.toMatchObject({ status: 503 });
    const { response } = await transport.run(own, { model: 'own', input: 'Hello.' });
    expect(response).toMatchObject({ status: 'completed', output: [message(outputText('Back.'))] });
  });
});

describe('the official SDK', () => {
  it('the official SDK tries again after errors of a script', async () => {
    // A wait of no time, so that the SDK does not sleep.
    const error = { kind: 'rate_limit', retry_after: 0 };
    await using service = await startWithScripts({ 'own.yaml': { turns: [{ error }, { error }, { text: 'There.' }] } });
    const response = await service.client({ maxRetries: 2 }).responses.create({ model: 'own', input: 'Hello.' });
    expect(response.output_text).toBe('There.');
  });
});

describe.each(TRANSPORTS)("a model's stream that ends early in a script over $name", (transport) => {
  const message = expect.stringMatching(/ended its answer early/);

  it("a model's stream that ends early in a script is refused when nothing was said", async () => {
    await using service = await startWithScripts({ 'early.yaml': { turns: [{ steps: [{ end: true }] }] } });
    const { status, error } = await refuse(transport.name, service, 'early');
    expect(status).toBeGreaterThanOrEqual(500);
    expect(error).toMatchObject({ message });
  });

  it("a model's stream that ends early in a script fails the response when something was said", async () => {
    const turn = { steps: [{ text: ['I was'] }, { end: true }, { text: ['never'] }] };
    await using service = await startWithScripts({ 'early.yaml': { turns: [turn] } });
    const { response } = await transport.run(service, { model: 'early', input: 'Hello.' });
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message },
      output: [{ status: 'incomplete', content: [outputText('I was')] }],
    });
  });
});

/** Runs a turn that is to be refused. */
async function refuse(transport: string, service: Service, name: string): Promise<SeenRefusal> {
  const body = { model: name, input: 'Go on.' };
  if (transport === 'ws') {
    await using client = await SocketClient.open(service);
    const { status, error } = await client.refusal(body);
    const { headers, ...rest } = error as SeenRefusal['error'] & {
      readonly headers?: Readonly<Record<string, string>>;
    };
    return { status, retryAfter: headers?.['retry-after'] ?? null, error: rest };
  }
  const url = `${service.baseURL}/responses`;
  const answer = transport === 'json' ? await postJson(url, body) : await openStream(url, body);
  if (!('body' in answer)) throw new Error('expected a refusal, not a stream');
  const { error } = answer.body as Pick<SeenRefusal, 'error'>;
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), error };
}
