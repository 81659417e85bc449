import { beforeEach, describe, expect, it, jest } from '@jest/globals';

import { asTenant, Clock, ConversationStore } from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { TestConversation } from './test-conversation.js';
import { useScriptedService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import type { Refusal } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

const LOCKED = {
  type: 'invalid_request_error',
  code: 'conversation_locked',
  message: 'Another process is currently operating on this conversation. Please retry in a few seconds.',
};
const TAKEN_OVER = 'Another request took over the conversation. Please retry your request.';
const TTL_MS = 60_000;

describe.each(STATES)('while a turn runs in a conversation in $state', ({ open }) => {
  const service = useScriptedService(() => startServiceIn(open, { providers: [ScriptedProvider] }));
  let conversation: TestConversation;
  let held: HeldTurns;
  let first: Promise<unknown>;

  beforeEach(async () => {
    conversation = await TestConversation.create(service.api);
    held = new HeldTurns(service.provider).hold();
    first = service.api.create({ input: 'first', conversation: conversation.id });
    await held.whenBegun(1);
  });

  const end = async (): Promise<void> => {
    held.letGo('first');
    await first;
  };

  it.each(TRANSPORTS)('another one is refused at once over $name, and nothing else breaks', async (transport) => {
    const second = { model: 'scripted', input: 'second', conversation: conversation.id };
    const refusal = { status: 400, body: { error: { ...LOCKED, param: 'conversation' } } };
    await expect(transport.run(service, second)).rejects.toMatchObject(refusal);
    const other = await TestConversation.create(service.api);
    for (const elsewhere of [{ conversation: other.id }, { conversation: null }]) {
      const { response } = await transport.run(service, { ...second, ...elsewhere });
      expect(response.status).toBe('completed');
    }
    await end();
    expect((await transport.run(service, second)).response.status).toBe('completed');
    expect(await conversation.transcript()).toEqual([
      'user: first',
      'assistant: re first',
      'user: second',
      'assistant: ok',
    ]);
  });

  it('clients are told when to come back while a turn runs in a conversation', async () => {
    for (const stream of [false, true]) {
      const body = { model: 'scripted', input: 'second', conversation: conversation.id, stream };
      const { status, headers } = await service.api.post('responses', body);
      expect([status, headers.get('retry-after')]).toEqual([400, '1']);
    }
    await end();
  });

  it('the SDK tries again by itself', async () => {
    const statuses: number[] = [];
    const fetchInTurn: typeof fetch = async (...args) => {
      const answer = await fetch(...args);
      statuses.push(answer.status);
      if (answer.status === 200) return answer;
      // The SDK waits for as long as it is told; until then the first turn ends.
      await end();
      return new Response(answer.body, {
        status: answer.status,
        headers: [...answer.headers, ['retry-after-ms', '1']],
      });
    };
    const client = service.client({ maxRetries: 2, fetch: fetchInTurn });
    const { status } = await client.responses.create({
      model: 'scripted',
      input: 'second',
      conversation: conversation.id,
    });
    expect([status, statuses]).toEqual(['completed', [400, 200]]);
  });

  it('the items of a conversation do not change while a turn runs in it, but can be read', async () => {
    const other = await TestConversation.create(service.api, 'One');
    const [item] = await other.items();
    const path = `${other.path}/items/${item?.id ?? ''}`;
    held.hold();
    const running = service.api.create({ input: 'other', conversation: other.id });
    await held.whenBegun(2);
    const refused = { status: 400, body: { error: { ...LOCKED, param: null } } };
    expect(await service.api.post(`${other.path}/items`, { items: [{ role: 'user', content: 'x' }] })).toMatchObject(
      refused,
    );
    expect(await service.api.delete(path)).toMatchObject(refused);
    expect(await service.api.get(path)).toMatchObject({ status: 200, body: { id: item?.id } });
    expect((await service.api.post(other.path, { metadata: { a: 'b' } })).status).toBe(200);
    expect(await other.transcript()).toEqual(['user: One']);
    held.letGo('other');
    await running;
    expect((await service.api.delete(path)).status).toBe(200);
    expect(await other.transcript()).toEqual(['user: other', 'assistant: re other']);
    await end();
  });

  it('a turn with store: false waits its turn too', async () => {
    const second = { model: 'scripted', input: 'second', conversation: conversation.id, store: false };
    expect(await service.api.post('responses', second)).toMatchObject({ status: 400, body: { error: LOCKED } });
    await end();
  });
});

describe.each(STATES)('lanes of one socket with one conversation in $state', ({ open }) => {
  const service = useScriptedService(() => startServiceIn(open, { providers: [ScriptedProvider] }));

  it('lanes of a socket with one conversation run one turn at a time: the second of two lanes is refused, that of one lane waits', async () => {
    const conversation = await TestConversation.create(service.api);
    const turn = { conversation: conversation.id };
    const held = new HeldTurns(service.provider).hold();
    await using client = await SocketClient.open(service);
    client.create({ ...turn, stream_id: 'a', input: 'first' });
    await held.whenBegun(1);
    client.create({ ...turn, stream_id: 'a', input: 'next' });
    expect(await client.refusal({ ...turn, stream_id: 'b', input: 'second' })).toMatchObject({
      status: 400,
      error: { ...LOCKED, param: 'conversation' },
    });
    held.letGo('first');
    await client.finish('a');
    await client.finish('a');
    await client.turn({ ...turn, stream_id: 'b', input: 'second' });
    expect(await conversation.transcript()).toEqual([
      ...['user: first', 'assistant: re first', 'user: next', 'assistant: ok', 'user: second', 'assistant: ok'],
    ]);
  });
});

describe('a turn that lost its conversation', () => {
  const clock = new FakeClock(Date.now());
  const service = useScriptedService({
    providers: [ScriptedProvider],
    environment: { SESSION_LOCK_TTL_MS: TTL_MS },
    overrides: [[Clock, clock]],
  });

  it.each(TRANSPORTS)('a turn that lost its conversation fails over $name, and appends nothing', async (transport) => {
    const conversation = await TestConversation.create(service.api);
    const held = new HeldTurns(service.provider).hold();
    const running = transport.run(service, { model: 'scripted', input: 'slow', conversation: conversation.id });
    await held.whenBegun(1);
    // Its process hangs until the lock has expired, and another one takes it.
    const later = jest.spyOn(clock, 'now').mockReturnValue(clock.now() + TTL_MS + 1);
    const taken = await service.app
      .get(ConversationStore)
      .open(asTenant('anybody'), conversation.id, { ttlMs: TTL_MS });
    later.mockRestore();
    expect(taken).not.toHaveProperty('refused');
    held.letGo('slow');
    const error = await running.then(
      ({ response }) => response['error'],
      (refusal: unknown) => (refusal as Refusal).error,
    );
    expect(error).toMatchObject({ message: TAKEN_OVER });
    expect(await conversation.items()).toEqual([]);
  });
});
