import { beforeAll, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { startServiceIn, STATES } from '../support/state-backends.js';

describe.each(STATES)('references to stored items in $state', ({ open }) => {
  let alice: OpenAI;
  let bob: OpenAI;

  const service = useService(() =>
    startServiceIn(open, {
      environment: { API_KEYS: 'alice:sk-a,bob:sk-b' },
      providers: [ScriptedProvider],
    }),
  );

  beforeAll(() => {
    alice = service.client({ apiKey: 'sk-a' });
    bob = service.client({ apiKey: 'sk-b' });
  });

  const reference = (id: string): OpenAI.Responses.ResponseInputItem => ({ type: 'item_reference', id });
  const missing = (id: string): object => ({
    status: 404,
    code: null,
    param: 'input',
    error: expect.objectContaining({ message: expect.stringContaining(`Item with id '${id}' not found.`) }),
  });

  it('a reference is refused to a compaction_trigger in the middle, and in a conversation', async () => {
    const api = service.api.with({ authorization: 'Bearer sk-a' });
    service.provider.reply({ type: 'text', delta: 'SUMMARY' });
    const input = [{ role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }];
    const { id } = await api.create({ model: 'm', input });
    const [trigger = ''] = await api.idsOf(`responses/${id}/input_items`);
    const items = [reference(trigger), { role: 'user', content: 'Hi' }];
    expect(await api.post('responses', { model: 'm', input: items })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', param: 'input[0]' } },
    });
    expect(await api.post('conversations', { items })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', param: 'items[0]' } },
    });
  });

  it('references to stored items are what they refer to: for the model, for pairing, and for what comes after', async () => {
    service.provider.reply(
      { type: 'reasoning_summary', delta: 'I look it up.' },
      { type: 'function_call', name: 'look', callId: 'call_1' },
    );
    const first = await alice.responses.create({ model: 'm', input: 'Look!' });
    const second = await alice.responses.create({
      model: 'm',
      input: [
        { role: 'user', content: 'Look!' },
        ...first.output.map(({ id }) => reference(String(id))),
        { type: 'function_call_output', call_id: 'call_1', output: 'nothing' },
      ],
    });
    expect(service.provider.turns.at(-1)?.context.map(({ type }) => type)).toEqual([
      'message',
      'reasoning',
      'function_call',
      'function_call_output',
    ]);
    expect(service.provider.turns.at(-1)?.context[2]).toMatchObject(first.output[1] ?? {});
    await alice.responses.create({ model: 'm', previous_response_id: second.id, input: 'And now?' });
    expect(service.provider.turns.at(-1)?.context.map(({ id }) => id)).toEqual(
      expect.arrayContaining(first.output.map(({ id }) => id)),
    );
  });

  it('references find items of the input as well, by id alone', async () => {
    const response = await alice.responses.create({ model: 'm', input: 'Remember me.' });
    const [item] = (await alice.responses.inputItems.list(response.id)).data;
    const bare = { id: String(item?.id) } as OpenAI.Responses.ResponseInputItem;
    await alice.responses.create({ model: 'm', input: [bare] });
    expect(service.provider.turns.at(-1)?.context).toEqual([item]);
  });

  it('references to nothing, to what was not stored, was deleted or is another tenant’s are refused alike', async () => {
    const unstored = await alice.responses.create({ model: 'm', input: 'Forget me.', store: false });
    const deleted = await alice.responses.create({ model: 'm', input: 'Delete me.' });
    const foreign = await bob.responses.create({ model: 'm', input: 'Not yours.' });
    await alice.responses.delete(deleted.id);
    for (const { output } of [unstored, deleted, foreign]) {
      const id = String(output[0]?.id);
      await expect(alice.responses.create({ model: 'm', input: [reference(id)] })).rejects.toMatchObject(missing(id));
    }
    await expect(alice.responses.create({ model: 'm', input: [reference('msg_no')] })).rejects.toMatchObject(
      missing('msg_no'),
    );
  });
});
