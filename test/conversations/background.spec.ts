import { beforeEach, describe, expect, it } from '@jest/globals';

import { BackgroundRuns, ConversationChangedError, type ModelEvent } from '../../src/index.js';
import { BackgroundWorker } from '../../src/responses/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { createInBackground, whenEnded, whenRunning } from '../support/background.js';
import { TestConversation } from './test-conversation.js';
import { useService } from '../support/describe-service.js';
import { HeldTurns } from '../support/held-turns.js';
import { transcript } from '../support/output.js';
import { collectStream } from '../support/sse.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import { runTools, TestPolicy } from '../support/test-policy.js';

/** No type of the SDK has it. */
const TRIGGER = { type: 'compaction_trigger' } as unknown as { readonly type: 'item_reference'; readonly id: string };

const CALL: readonly ModelEvent[] = [
  { type: 'function_call', name: 'weather', callId: 'call_1' },
  { type: 'function_call_arguments', delta: '{}' },
];

describe.each(STATES)('background turns in conversations in $state', ({ open }) => {
  const policy = new TestPolicy();
  const service = useService(() =>
    startServiceIn(open, { providers: [ScriptedProvider], imports: [policy.asModule()] }),
  );
  let conversation: TestConversation;
  let held: HeldTurns;
  /** The response once it has ended and its process has released the conversation, which comes a moment later. */
  const whenLeft = async (id: string): ReturnType<typeof whenEnded> => {
    const response = await whenEnded(service, id);
    await service.app.get(BackgroundWorker).whenStopped(id);
    return response;
  };

  beforeEach(async () => {
    policy.follow = () => undefined;
    conversation = await TestConversation.create(service.api, 'Before');
    held = new HeldTurns(service.provider);
  });

  const create = (input: string, more: object = {}) =>
    createInBackground(service, { input, conversation: conversation.id, ...more });
  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);

  it('background turns in conversations append their input and output together, at their end', async () => {
    held.hold();
    const queued = await create('slow');
    expect(queued).toMatchObject({ status: 'queued', conversation: { id: conversation.id } });
    await held.whenBegun(1);
    expect(seen()).toEqual(['user: Before', 'user: slow']);
    expect(await conversation.transcript()).toEqual(['user: Before']);
    held.letGo('slow');
    const ended = await whenLeft(queued.id);
    expect(ended).toMatchObject({ status: 'completed', conversation: { id: conversation.id } });
    expect(await conversation.transcript()).toEqual(['user: Before', 'user: slow', 'assistant: re slow']);
    const { body } = await service.api.get(`responses/${queued.id}/input_items`);
    expect((await conversation.items())[1]).toEqual((body['data'] as readonly unknown[])[0]);
  });

  it('background turns in conversations append no compaction_trigger', async () => {
    service.provider.reply({ type: 'text', delta: 'SUMMARY' });
    const input = [{ role: 'user' as const, content: 'Now' }, TRIGGER];
    const { id } = await createInBackground(service, { input, conversation: conversation.id });
    expect(await whenLeft(id)).toMatchObject({ status: 'completed' });
    const types = (await conversation.items()).map(({ type }) => type);
    expect(types).toEqual(['message', 'message', 'compaction']);
  });

  it('background turns in conversations are streamed too', async () => {
    const body = { model: 'scripted', input: 'Hi', background: true, conversation: conversation.id };
    const events = await collectStream(`${service.baseURL}/responses`, body);
    for (const event of events.filter(({ response }) => response !== undefined)) {
      expect(event).toMatchObject({ response: { conversation: { id: conversation.id } } });
    }
    expect(await conversation.transcript()).toEqual(['user: Before', 'user: Hi', 'assistant: ok']);
  });

  it('background turns in conversations show models what policies gave them, and not clients', async () => {
    policy.follow = () => runTools('weather');
    service.provider.reply(...CALL).reply({ type: 'text', delta: 'Sunny.' });
    await whenLeft((await create('Weather?')).id);
    await service.api.create({ input: 'Sure?', conversation: conversation.id });
    expect(seen()).toEqual([
      ...[
        'user: Before',
        'user: Weather?',
        'function_call',
        'function_call_output',
        'assistant: Sunny.',
        'user: Sure?',
      ],
    ]);
    expect(await conversation.items()).toHaveLength(6);
  });

  it.each([
    ['an unknown conversation', { conversation: 'conv_unknown' }, 404],
    ['items that do not fit', { input: [{ type: 'function_call_output', call_id: 'call_x', output: '' }] }, 400],
    ['an item that is there', { input: [{ role: 'user', content: 'x', id: 'msg_mine' }] }, 400],
    ['two histories', { previous_response_id: 'resp_1' }, 400],
  ])('a background turn in a conversation is refused when it is created for %s', async (_, more, status) => {
    const there = { items: [{ role: 'user', content: 'x', id: 'msg_mine' }] };
    expect((await service.api.post(`${conversation.path}/items`, there)).status).toBe(200);
    const body = { model: 'scripted', input: 'Hi', background: true, conversation: conversation.id, ...more };
    expect((await service.api.post('responses', body)).status).toBe(status);
  });

  it('a background turn can be created while another turn of its conversation runs, and waits in the queue for its end', async () => {
    held.hold(2);
    const first = service.api.create({ input: 'first', conversation: conversation.id });
    await held.whenBegun(1);
    const runs = service.app.get(BackgroundRuns);
    const handedBack = whenCalled(runs, 'handBack');
    const second = await create('second');
    await handedBack;
    // It takes no place of others meanwhile.
    const other = await createInBackground(service, { input: 'other' });
    held.letGo('other');
    await whenLeft(other.id);
    held.hold();
    held.letGo('first');
    await first;
    await held.whenBegun(3);
    expect(seen()).toEqual(['user: Before', 'user: first', 'assistant: re first', 'user: second']);
    held.letGo('second');
    expect(await whenLeft(second.id)).toMatchObject({ status: 'completed' });
    expect((await conversation.transcript()).slice(3)).toEqual(['user: second', 'assistant: re second']);
  });

  it('background turns lock their conversation when they start, and let it go at their end', async () => {
    held.hold();
    const { id } = await create('slow');
    await held.whenBegun(1);
    const turn = { model: 'scripted', input: 'Hi', conversation: conversation.id };
    const locked = { status: 400, body: { error: { code: 'conversation_locked' } } };
    expect(await service.api.post('responses', turn)).toMatchObject(locked);
    held.letGo('slow');
    await whenLeft(id);
    await service.api.create(turn);
  });

  it.each([
    ['fail', 'failed'],
    ['are cancelled', 'cancelled'],
    ['are not stored', 'completed'],
  ])('background turns in conversations append nothing when they %s', async (_, status) => {
    held.hold();
    const { id } = await create('slow', { store: status !== 'completed' });
    await held.whenBegun(1);
    if (status === 'failed') held.fail('slow', new Error('broken'));
    else if (status === 'cancelled') await service.client().responses.cancel(id);
    else held.letGo('slow');
    expect(await whenLeft(id)).toMatchObject({ status });
    expect(await conversation.transcript()).toEqual(['user: Before']);
    await service.app.get(BackgroundWorker).whenStopped(id);
    held.letGo('slow');
    await service.api.create({ input: 'Hi', conversation: conversation.id });
  });

  it('background turns in conversations append what is incomplete', async () => {
    service.provider.reply({ type: 'text', delta: 'Half' }, { type: 'finish', reason: 'length' });
    expect(await whenLeft((await create('Hi')).id)).toMatchObject({ status: 'incomplete' });
    expect((await conversation.transcript()).slice(1)).toEqual(['user: Hi', 'assistant: Half']);
  });

  it('a background turn fails, and appends nothing, when its conversation was changed behind it', async () => {
    held.hold();
    const { id } = await create('slow');
    await held.whenBegun(1);
    const runs = service.app.get(BackgroundRuns);
    const finish = runs.finish.bind(runs);
    runs.finish = async () => {
      runs.finish = finish;
      throw new ConversationChangedError(conversation.id);
    };
    held.letGo('slow');
    expect(await whenLeft(id)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: expect.stringMatching(/^The conversation was changed/) },
    });
    expect(await conversation.transcript()).toEqual(['user: Before']);
    expect(held.begun).toEqual(['slow']);
  });

  it('background turns fail when their conversation is deleted, while they wait or run', async () => {
    held.hold();
    const running = await create('slow');
    await held.whenBegun(1);
    await whenRunning(service, running.id);
    await service.api.delete(conversation.path);
    held.letGo('slow');
    expect(await whenLeft(running.id)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: 'The conversation was deleted while the response was made.' },
    });
  });
});

/** Resolves when a method of an object was called and has answered. */
function whenCalled<Name extends string>(
  target: Record<Name, (...values: never[]) => Promise<unknown>>,
  name: Name,
): Promise<void> {
  const real = target[name];
  return new Promise((resolve) => {
    target[name] = async (...values: never[]) => {
      const answer = await real.apply(target, values);
      resolve();
      return answer;
    };
  });
}
