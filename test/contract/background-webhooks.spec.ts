import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';

import { ModelError } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { until } from '../support/held-bodies.js';
import { type Service, startService } from '../support/service.js';
import { EVERY_STATE, startServiceIn, STATES } from '../support/state-backends.js';
import { WebhookReceiver } from '../support/webhooks/webhook-receiver.js';

const WEBHOOK_SECRET = `whsec_${Buffer.from('only for the tests of this service').toString('base64')}`;

describe.each(STATES)('webhooks of background responses in $state', ({ open }) => {
  let receiver: WebhookReceiver;
  let service: Service;
  let provider: ScriptedProvider;

  beforeEach(async () => {
    receiver = await WebhookReceiver.open();
    service = await startServiceIn(open, {
      providers: [ScriptedProvider],
      environment: {
        WEBHOOK_URL: receiver.url,
        WEBHOOK_SECRET,
        WEBHOOK_ALLOW_LOOPBACK: 'true',
      },
    });
    provider = service.app.get(ScriptedProvider);
  });

  afterEach(async () => {
    await service.close();
    await receiver[Symbol.asyncDispose]();
  });

  const create = (): Promise<OpenAI.Responses.Response> =>
    service.client().responses.create({ model: 'scripted', input: 'Hi', background: true });

  /** The events that have arrived, as the official SDK reads them. */
  async function events(count: number): Promise<readonly object[]> {
    await until(() => receiver.received.length >= count);
    const { webhooks } = new OpenAI({ apiKey: 'test' });
    return Promise.all(receiver.received.map(({ body, headers }) => webhooks.unwrap(body, headers, WEBHOOK_SECRET)));
  }

  it.each([
    ['completed', () => provider.reply({ type: 'text', delta: 'Hello' })],
    ['incomplete', () => provider.reply({ type: 'text', delta: 'He' }, { type: 'finish', reason: 'length' })],
    [
      'failed',
      () =>
        provider.play(() => {
          throw new ModelError('server_error', 'It broke.');
        }),
    ],
  ] as const)('webhooks announce a background response that is %s, once', async (status, script) => {
    script();
    const { id } = await create();
    expect(await events(1)).toEqual([expect.objectContaining({ type: `response.${status}`, data: { id } })]);
    expect(await service.client().responses.retrieve(id)).toMatchObject({ status });
  });

  it('webhooks announce a background response that was cancelled, however often it was', async () => {
    provider.play(waitForEver);
    const { id } = await create();
    // One that is cancelled in the queue leaves the script to the later one, which would never end.
    await until(() => provider.turns.length === 1);
    const { responses } = service.client();
    await Promise.all([responses.cancel(id), responses.cancel(id)]);
    await responses.cancel(id);
    // A later one shows that no further announcement of the first was enqueued before it; several are sent at once.
    await events(1);
    const later = await create();
    expect(await events(2)).toEqual([
      expect.objectContaining({ type: 'response.cancelled', data: { id } }),
      expect.objectContaining({ type: 'response.completed', data: { id: later.id } }),
    ]);
  });

  it('webhooks announce nothing of a foreground response', async () => {
    await service.client().responses.create({ model: 'scripted', input: 'Hi' });
    const { id } = await create();
    expect(await events(1)).toEqual([expect.objectContaining({ data: { id } })]);
  });
});

describe.each(EVERY_STATE.filter(({ state }) => state !== 'memory'))('webhooks in $state', ({ open }) => {
  it('a webhook whose only attempt was cut off by a shutdown is sent by the next process, with the same id', async () => {
    await using receiver = await WebhookReceiver.open();
    await using state = await open();
    const start = (): Promise<Service> =>
      startService({
        providers: [ScriptedProvider],
        environment: {
          ...state.environment,
          WEBHOOK_URL: receiver.url,
          WEBHOOK_SECRET,
          WEBHOOK_ALLOW_LOOPBACK: 'true',
          WEBHOOK_MAX_ATTEMPTS: '1',
        },
      });
    receiver.answers.push(() => undefined);
    const first = await start();
    first.app.get(ScriptedProvider).reply({ type: 'text', delta: 'Hello' });
    const { id } = await first.client().responses.create({ model: 'scripted', input: 'Hi', background: true });
    await until(() => receiver.received.length === 1);
    await first.close();

    const next = await start();
    await until(() => receiver.received.length === 2);
    await next.close();
    const [cutOff, again] = receiver.received;
    expect(again?.headers['webhook-id']).toBe(cutOff?.headers['webhook-id']);
    expect(JSON.parse(again?.body ?? '')).toMatchObject({ data: { id } });
  });
});

/** A model that says nothing until it is stopped. */
async function* waitForEver(_: unknown, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<never> {
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
}
