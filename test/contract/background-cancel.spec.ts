import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { beforeEach, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';

import { checkEventOrder, ScriptedProvider } from '../../src/testing/index.js';
import { startChatService } from '../support/chat-upstream/start-chat-service.js';
import { createInBackground, IN_BACKGROUND, pollUntil, replay, whenEnded, whenRunning } from '../support/background.js';
import { useFreshService } from '../support/describe-service.js';
import { RawClient } from '../support/raw-client.js';
import type { Service } from '../support/service.js';
import { HeldTurns } from '../support/held-turns.js';
import { openPostgres, startServiceIn, STATES } from '../support/state-backends.js';

const CANCELLED = { status: 'cancelled', completed_at: null, usage: null, error: null, incomplete_details: null };

type Streamed = OpenAI.Responses.ResponseStreamEvent;

describe.each(STATES)('cancelling in $state', ({ open }) => {
  let held: HeldTurns;
  // One runs, the others are queued.
  const service = useFreshService(() =>
    startServiceIn(open, { providers: [ScriptedProvider], environment: { BACKGROUND_MAX_RUNNING: 1 } }),
  );
  beforeEach(() => {
    held = new HeldTurns(service.provider);
  });

  /** A model that says something and waits for its end. Resolves with its signal once it is asked. */
  const playUntilStopped = async (): Promise<AbortSignal> => {
    const asked = Promise.withResolvers<AbortSignal>();
    service.provider.play(async function* (_turn, { signal }) {
      asked.resolve(signal);
      yield [
        { type: 'text', delta: 'Whole.', key: 'a' },
        { type: 'end', key: 'a' },
        { type: 'text', delta: 'Half', key: 'b' },
      ];
      await once(signal, 'abort');
    });
    return asked.promise;
  };

  /** Creates a response that runs. */
  const run = async (body: object = {}): Promise<string> => {
    const { id } = await createInBackground(service, body);
    await whenRunning(service, id);
    return id;
  };

  it('cancelling ends a queued response, which never runs', async () => {
    held.hold(2);
    const first = await run({ input: 'first' });
    const { id } = await createInBackground(service, { input: 'second' });
    const cancelled = await service.client().responses.cancel(id);
    expect(cancelled).toMatchObject({ id, ...CANCELLED, output: [], output_text: '' });
    expect(await service.client().responses.retrieve(id)).toEqual(cancelled);
    held.letGo('first');
    await whenEnded(service, first);
    const third = await createInBackground(service, { input: 'third' });
    held.letGo('third');
    await whenEnded(service, third.id);
    expect(held.begun).toEqual(['first', 'third']);
  });

  it('cancelling ends a running response, with what there is, once its model was stopped', async () => {
    const signal = playUntilStopped();
    const id = await run();
    const client = service.client();
    await pollUntil(service, id, ({ output }) => output.length > 0);
    const cancelled = await client.responses.cancel(id);
    expect((await signal).aborted).toBe(true);
    expect(cancelled).toMatchObject({
      id,
      ...CANCELLED,
      output: [
        { type: 'message', status: 'completed', content: [{ text: 'Whole.' }] },
        { type: 'message', status: 'incomplete', content: [{ text: 'Half' }] },
      ],
    });
    expect(await client.responses.retrieve(id)).toEqual(cancelled);
  });

  it('cancelling answers the same when it is repeated, and when several do it at once', async () => {
    held.hold(2);
    const id = await run();
    const client = service.client();
    const answers = await Promise.all(Array.from({ length: 5 }, () => client.responses.cancel(id)));
    answers.push(await client.responses.cancel(id), await client.responses.retrieve(id));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]).toMatchObject(CANCELLED);
  });

  it('cancelling leaves a response that has ended unchanged', async () => {
    held.hold(2);
    const id = await run();
    held.letGo('Hi');
    const ended = await whenEnded(service, id);
    expect(await service.client().responses.cancel(id)).toEqual(ended);
    expect(await service.client().responses.retrieve(id)).toEqual(ended);
  });

  it('cancelling is refused for responses in the foreground, and for those that do not exist', async () => {
    const { id } = await service.api.create({});
    expect(await service.api.post(`responses/${id}/cancel`, {})).toMatchObject({
      status: 400,
      body: { error: { message: 'Cannot cancel a synchronous response.', type: 'invalid_request_error', code: null } },
    });
    expect(await service.api.post('responses/resp_unknown/cancel', {})).toMatchObject({ status: 404 });
  });

  describe('ends the stream of', () => {
    it('a running response, for its creator and for readers, with one terminal event', async () => {
      held.hold(2);
      const raw = new RawClient(service.port);
      const creator = await raw.stream({ ...IN_BACKGROUND });
      const id = /resp_\w+/.exec(await creator.until('response.output_text.delta'))?.[0] ?? '';
      const reader = replay(service, id);
      await Promise.all([service.client().responses.cancel(id), service.client().responses.cancel(id)]);
      const text = await creator.whole;
      raw.close();
      expect(await reader).toBe(text);
      expect(await replay(service, id)).toBe(text);
      expect(text.match(/^event: response\.(?:completed|incomplete|failed)$/gm)).toEqual([
        'event: response.incomplete',
      ]);
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
    });

    it('the SDK, which takes it for an ordinary end', async () => {
      held.hold(2);
      const client = service.client();
      const stream = client.responses.stream({ ...IN_BACKGROUND });
      const seen: Streamed[] = [];
      let id = '';
      for await (const event of stream) {
        seen.push(event);
        if (event.type === 'response.created') ({ id } = event.response);
        if (event.type === 'response.output_text.delta') await client.responses.cancel(id);
      }
      checkEventOrder(seen, { transport: 'sse', obfuscated: true });
      const final = await stream.finalResponse();
      expect(final).toMatchObject({ ...CANCELLED, output_text: 're ' });
      expect(final.output).toMatchObject([{ type: 'message', status: 'incomplete' }]);
      const again = await client.responses.stream({ response_id: final.id }).finalResponse();
      expect(again).toMatchObject({ id: final.id, ...CANCELLED });
      const last: Streamed[] = [];
      for await (const event of await client.responses.retrieve(final.id, { stream: true, starting_after: 2 })) {
        last.push(event);
      }
      expect(last.at(-1)).toMatchObject({ type: 'response.incomplete', response: { status: 'cancelled' } });
    });

    it('a cancellation ends the stream of a queued response', async () => {
      held.hold(2);
      await run({ input: 'first' });
      const raw = new RawClient(service.port);
      const creator = await raw.stream({ ...IN_BACKGROUND, input: 'second' });
      const id = /resp_\w+/.exec(await creator.until('response.queued'))?.[0] ?? '';
      await service.client().responses.cancel(id);
      const types = [...(await creator.whole).matchAll(/^event: (.*)$/gm)].map(([, type]) => type);
      raw.close();
      expect(types).toEqual(['response.created', 'response.queued', 'response.incomplete']);
    });
  });

  describe('DELETE', () => {
    it('DELETE stops a running response, and ends its streams', async () => {
      const signal = playUntilStopped();
      const raw = new RawClient(service.port);
      const creator = await raw.stream({ ...IN_BACKGROUND });
      const id = /resp_\w+/.exec(await creator.until('response.output_text.delta'))?.[0] ?? '';
      expect(await service.api.delete(`responses/${id}`)).toMatchObject({ status: 200, body: { id, deleted: true } });
      expect((await signal).aborted).toBe(true);
      expect((await creator.whole).endsWith('data: [DONE]\n\n')).toBe(true);
      raw.close();
      expect(await service.api.get(`responses/${id}`)).toMatchObject({ status: 404 });
      expect(await service.api.get(`responses/${id}?stream=true`)).toMatchObject({ status: 404 });
      expect(await service.api.delete(`responses/${id}`)).toMatchObject({ status: 404 });
    });

    it('DELETE takes a queued response out of the queue', async () => {
      held.hold(2);
      const first = await run({ input: 'first' });
      const { id } = await createInBackground(service, { input: 'second' });
      expect(await service.api.delete(`responses/${id}`)).toMatchObject({ status: 200 });
      const third = await createInBackground(service, { input: 'third' });
      held.letGo('first');
      held.letGo('third');
      await whenEnded(service, first);
      await whenEnded(service, third.id);
      expect(held.begun).toEqual(['first', 'third']);
    });
  });
});

describe('the upstream of a cancelled response', () => {
  it.each([
    ['cancel', (service: Service, id: string) => service.client().responses.cancel(id)],
    ['delete', (service: Service, id: string) => service.client().responses.delete(id)],
  ])('the upstream of a cancelled response is hung up on before the answer to %s', async (_, end) => {
    const sockets = new Set<Socket>();
    const collect = (message: unknown): void => void sockets.add((message as { readonly socket: Socket }).socket);
    subscribe('net.client.socket', collect);
    await using service = await startChatService();
    service.upstream.hold();
    const { id } = await createInBackground(service, { model: 'tested' });
    const request = await service.upstream.received();
    unsubscribe('net.client.socket', collect);
    const upstream = [...sockets].find(({ remotePort }) => remotePort === service.upstream.port);
    expect(upstream?.destroyed).toBe(false);
    const atAnswer = new Promise((resolve) => {
      service.app.getHttpServer().prependOnceListener('request', (_request: unknown, answer: ServerResponse) => {
        answer.once('prefinish', () => resolve(upstream?.destroyed));
      });
    });
    await end(service, id);
    expect(await atAnswer).toBe(true);
    await request.closed;
  });

  it('the upstream of a cancelled response is hung up on when another replica cancels, although it is silent', async () => {
    await using state = await openPostgres();
    await using one = await startChatService({ environment: state.environment });
    await using two = await startChatService({ environment: { ...state.environment, BACKGROUND_MAX_RUNNING: 0 } });
    one.upstream.hold();
    const { id } = await createInBackground(two, { model: 'tested' });
    const request = await one.upstream.received();
    const cancelled = await two.client().responses.cancel(id);
    await request.closed;
    expect(await one.client().responses.retrieve(id)).toEqual(cancelled);
    expect(cancelled).toMatchObject(CANCELLED);
  });
});
