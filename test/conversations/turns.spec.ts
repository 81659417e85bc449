import { beforeEach, describe, expect, it } from '@jest/globals';

import { ModelError, type ModelEvent } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { TestConversation } from './test-conversation.js';
import { useService } from '../support/describe-service.js';
import { RawClient } from '../support/raw-client.js';
import { RunningTurns } from '../../src/responses/index.js';
import { HeldTurns } from '../support/held-turns.js';
import { SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import { runTools, TestPolicy } from '../support/test-policy.js';
import type { Refusal, TurnResult } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

const say = (delta: string): ModelEvent => ({ type: 'text', delta });
const call = (name: string): readonly ModelEvent[] => [
  { type: 'function_call', name, callId: `call_${name}` },
  { type: 'function_call_arguments', delta: '{}' },
];

describe.each(STATES)('turns in conversations in $state', ({ open }) => {
  const policy = new TestPolicy();
  const service = useService(() =>
    startServiceIn(open, { providers: [ScriptedProvider], imports: [policy.asModule()] }),
  );
  let conversation: TestConversation;

  beforeEach(async () => {
    policy.follow = () => undefined;
    service.provider.turns.length = 0;
    conversation = await TestConversation.create(service.api);
  });

  /** What the model saw in its latest turn. */
  const seen = (): readonly string[] => transcript(service.provider.turns.at(-1)?.context ?? []);
  const itemsOf = (responseId: string): Promise<readonly string[]> =>
    service.api.idsOf(`responses/${responseId}/input_items`);

  describe.each(TRANSPORTS)('over $name', (transport) => {
    const turn = (body: object): Promise<TurnResult> =>
      transport.run(service, { model: 'scripted', conversation: conversation.id, ...body });

    it('turns in conversations have the input and output of those before them', async () => {
      await conversation.add('Before');
      service.provider.reply(say('Hello.'));
      await turn({ input: 'Hi' });
      service.provider.reply(say('Fine.'));
      await turn({ input: 'How are you?', conversation: { id: conversation.id } });
      const then = ['user: Before', 'user: Hi', 'assistant: Hello.', 'user: How are you?'];
      expect(seen()).toEqual(then);
      expect(await conversation.transcript()).toEqual([...then, 'assistant: Fine.']);
    });

    it('turns append their input and output to the conversation both at once, at their end', async () => {
      const held = new HeldTurns(service.provider).hold();
      const running = turn({ input: 'slow' });
      await held.whenBegun(1);
      expect(await conversation.items()).toEqual([]);
      held.letGo('slow');
      const { response } = await running;
      const [question, answer] = await conversation.items();
      expect([question?.id]).toEqual(await itemsOf(response.id));
      expect([answer]).toEqual(response['output']);
    });

    it('turns name their conversation in every snapshot', async () => {
      const { events = [], response } = await turn({ input: 'Hi' });
      const named = { conversation: { id: conversation.id }, previous_response_id: null };
      for (const snapshot of events.flatMap((event) => event['response'] ?? [])) expect(snapshot).toMatchObject(named);
      expect(response).toMatchObject(named);
      expect((await service.api.get(`responses/${response.id}`)).body).toMatchObject(named);
    });

    it('turns in conversations append no compaction_trigger, which stays in the input of its response', async () => {
      service.provider.reply(say('Hello.')).reply(say('SUMMARY'));
      await turn({ input: 'Hi' });
      const { response } = await turn({ input: [{ role: 'user', content: 'Now' }, { type: 'compaction_trigger' }] });
      const types = (await conversation.items()).map(({ type }) => type);
      expect(types).toEqual(['message', 'message', 'message', 'compaction']);
      expect(await itemsOf(response.id)).toHaveLength(2);
      await turn({ input: 'Go on' });
      expect(seen().at(-1)).toBe('user: Go on');
      expect((await conversation.items()).map(({ type }) => type).slice(3)).toEqual([
        'compaction',
        'message',
        'message',
      ]);
    });

    it('turns in conversations append what is incomplete', async () => {
      service.provider.reply(say('Half'), { type: 'finish', reason: 'length' });
      expect((await turn({ input: 'Hi' })).response.status).toBe('incomplete');
      expect(await conversation.transcript()).toEqual(['user: Hi', 'assistant: Half']);
    });

    it('turns in conversations append nothing with store: false, but see what is there', async () => {
      await conversation.add('Before');
      await turn({ input: 'Hi', store: false });
      expect(seen()).toEqual(['user: Before', 'user: Hi']);
      expect(await conversation.transcript()).toEqual(['user: Before']);
      await turn({ input: 'Again' });
      expect(seen()).toEqual(['user: Before', 'user: Again']);
    });

    it('turns in conversations append nothing when they fail, or are refused', async () => {
      service.provider.reply(say('Half'), { type: 'finish', reason: 'stop' });
      service.provider.otherwise(async function* () {
        yield say('Half');
        throw new ModelError('server_error', 'Broken.');
      });
      try {
        await turn({ input: 'kept' });
        // A failure after the first event, and refusals before it.
        const failing = turn({ input: 'lost' });
        await expect(failing).resolves.toMatchObject({ response: { status: 'failed' } });
      } finally {
        service.provider.otherwise(async function* () {
          yield [say('ok'), { type: 'finish', reason: 'stop' }];
        });
      }
      const output = [{ type: 'function_call_output', call_id: 'call_1', output: 'x' }];
      await expect(turn({ input: output })).rejects.toMatchObject({ status: 400 });
      expect(await conversation.transcript()).toEqual(['user: kept', 'assistant: Half']);
      await turn({ input: 'next' });
      expect(seen()).toEqual(['user: kept', 'assistant: Half', 'user: next']);
    });

    it('turns in conversations need no input of their own', async () => {
      await conversation.add('Hi');
      for (const input of [[], undefined]) {
        await turn({ input });
        expect(await conversation.transcript()).toEqual(seen().concat('assistant: ok'));
      }
    });

    it('turns answer the calls of the turns before them, and not again those that were deleted', async () => {
      service.provider.reply(...call('look'));
      await turn({ input: 'Look it up.' });
      const unanswered = { body: { error: { message: 'No tool output found for function call call_look.' } } };
      await expect(turn({ input: 'Well?' })).rejects.toMatchObject(unanswered);
      await turn({ input: [{ type: 'function_call_output', call_id: 'call_look', output: 'found' }] });
      expect(await conversation.transcript()).toEqual([
        'user: Look it up.',
        'function_call',
        'function_call_output',
        'assistant: ok',
      ]);
      const output = (await conversation.items())[2]?.id ?? '';
      await service.api.delete(`${conversation.path}/items/${output}`);
      await expect(turn({ input: 'Well?' })).rejects.toMatchObject(unanswered);
    });

    it('turns in conversations are refused while an output of the conversation has no call', async () => {
      const output = { type: 'function_call_output', call_id: 'call_gone', output: 'x' };
      const { body } = await service.api.post(`${conversation.path}/items`, { items: [output] });
      const message = 'No tool call found for function call output with call_id call_gone.';
      await expect(turn({ input: 'Hi' })).rejects.toMatchObject({ status: 400, body: { error: { message } } });
      const [{ id }] = body['data'] as readonly [{ readonly id: string }];
      await service.api.delete(`${conversation.path}/items/${id}`);
      await turn({ input: 'Hi' });
    });

    it('turns in conversations are refused when there is nothing to answer', async () => {
      const error = { code: 'missing_required_parameter' };
      await expect(turn({ input: [] })).rejects.toMatchObject({ status: 400, body: { error } });
    });

    it('turns in conversations take no item twice', async () => {
      const input = [{ role: 'user', content: 'Hi', id: 'msg_mine' }];
      await turn({ input });
      const message = 'Duplicate item found with id msg_mine. Remove duplicate items from your input and try again.';
      await expect(turn({ input })).rejects.toMatchObject({ status: 400, body: { error: { message } } });
    });

    it('turns in conversations do not see deleted items, nor does who continues a response', async () => {
      await turn({ input: 'Forget this.' });
      const { response } = await turn({ input: 'Next' });
      const [question] = await conversation.items();
      await service.api.delete(`${conversation.path}/items/${question?.id ?? ''}`);
      const left = ['assistant: ok', 'user: Next', 'assistant: ok'];
      await turn({ input: 'What?' });
      expect(seen()).toEqual([...left, 'user: What?']);
      await transport.run(service, { model: 'scripted', input: 'Branch', previous_response_id: response.id });
      expect(seen()).toEqual([...left, 'user: Branch']);
    });

    it('a turn in a conversation can be branched from, which leaves the conversation as it is', async () => {
      const { response } = await turn({ input: 'One' });
      await turn({ input: 'Two' });
      await transport.run(service, { model: 'scripted', input: 'Branch', previous_response_id: response.id });
      expect(seen()).toEqual(['user: One', 'assistant: ok', 'user: Branch']);
      expect(await conversation.items()).toHaveLength(4);
    });

    it('turns are refused once their conversation is deleted, and what was made in it stays', async () => {
      const { response } = await turn({ input: 'One' });
      await service.api.delete(conversation.path);
      const error = { code: null, param: null, message: `Conversation with id '${conversation.id}' not found.` };
      await expect(turn({ input: 'Two' })).rejects.toMatchObject({ status: 404, body: { error } });
      await transport.run(service, { model: 'scripted', input: 'Three', previous_response_id: response.id });
      expect(seen()).toEqual(['user: One', 'assistant: ok', 'user: Three']);
    });

    it('a turn fails when its conversation is deleted while it runs', async () => {
      const held = new HeldTurns(service.provider).hold();
      const running = turn({ input: 'slow' });
      await held.whenBegun(1);
      await service.api.delete(conversation.path);
      held.letGo('slow');
      const message = /^The conversation was deleted while the response was made\.$/;
      const failed = await running.then(
        ({ response }) => response['error'],
        (refusal: unknown) => (refusal as Refusal).error,
      );
      expect(failed).toMatchObject({ message: expect.stringMatching(message) });
    });

    it('turns in conversations show models what policies gave them, and not clients', async () => {
      policy.follow = () => runTools('weather');
      service.provider.reply(...call('weather')).reply(say('Sunny.'));
      await turn({ input: 'Weather?' });
      expect(await conversation.transcript()).toEqual(['user: Weather?', 'function_call', 'assistant: Sunny.']);
      await turn({ input: 'Sure?' });
      const then = ['user: Weather?', 'function_call', 'function_call_output', 'assistant: Sunny.', 'user: Sure?'];
      expect(seen()).toEqual(then);
      const given = service.provider.turns.at(-1)?.context[2]?.id ?? '';
      expect((await service.api.get(`${conversation.path}/items/${given}`)).status).toBe(404);
    });

    it('turns in conversations belong to the session that they name, or to one of their own', async () => {
      const { response } = await turn({ input: 'One' });
      expect(await service.api.idsOf(`sessions/${conversation.id}/responses`)).toEqual([response.id]);
      const named = service.api.with({ 'x-session-id': 'work' });
      const { id } = await named.create({ conversation: conversation.id });
      expect(await service.api.idsOf('sessions/work/responses?limit=1')).toEqual([id]);
      expect(await conversation.items()).toHaveLength(4);
    });
  });

  it('turns in conversations append nothing when their client leaves', async () => {
    const held = new HeldTurns(service.provider).hold(2);
    const turn = { model: 'scripted', conversation: conversation.id };
    const raw = new RawClient(service.port);
    const stream = await raw.stream({ ...turn, input: 'left' });
    await stream.until('response.output_text.delta');
    stream.vanish();
    raw.close();
    const turns = service.app.get(RunningTurns);
    while (turns.size > 0) await service.api.get('models');
    const socket = await SocketClient.open(service);
    socket.create({ ...turn, input: 'left too' });
    await held.whenBegun(2);
    await socket[Symbol.asyncDispose]();
    while (turns.size > 0) await service.api.get('models');
    expect(await conversation.items()).toEqual([]);
    await service.api.create({ ...turn, input: 'Hi' });
    expect(seen()).toEqual(['user: Hi']);
  });
});
