import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { streaming } from '../support/responses-upstream/reply.js';
import { MODEL, startResponsesService } from '../support/responses-upstream/start-responses-service.js';
import { TRANSPORTS } from '../support/transports.js';

const index = { output_index: 0 };
const reasoning = { type: 'reasoning', id: 'rs_u', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] };
const message = { type: 'message', id: 'msg_u', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] };
const call = { type: 'function_call', id: 'fc_u', call_id: 'call_1', name: 'look', arguments: '{"a":1}' };

describe.each(TRANSPORTS)('items that all have the index 0, over $name', (transport) => {
  const service = useService(() => startResponsesService());

  /** The response to a stream of these events, whose end repeats no items. */
  async function answerTo(events: readonly object[]): Promise<unknown> {
    service.upstream.respond(
      streaming([...events, { type: 'response.completed', response: { id: 'resp_u', output: [] } }]),
    );
    return (await transport.run(service, { model: MODEL, input: 'Hi' })).response;
  }

  it('items that all have the index 0 are told apart by their ids, one after another', async () => {
    const response = await answerTo([
      { type: 'response.output_item.added', ...index, item: { ...reasoning, content: [] } },
      { type: 'response.output_item.done', ...index, item: reasoning },
      { type: 'response.output_item.added', ...index, item: { ...message, content: [] } },
      { type: 'response.output_text.delta', ...index, item_id: 'msg_u', content_index: 0, delta: 'Hello' },
      { type: 'response.output_item.done', ...index, item: message },
      { type: 'response.output_item.added', ...index, item: { ...call, arguments: '' } },
      { type: 'response.function_call_arguments.delta', ...index, item_id: 'fc_u', delta: '{"a":1}' },
      { type: 'response.output_item.done', ...index, item: call },
    ]);
    expect(response).toMatchObject({
      status: 'completed',
      output: [
        { type: 'reasoning', content: [{ text: 'Hm.' }] },
        { type: 'message', content: [{ text: 'Hello' }] },
        { type: 'function_call', call_id: 'call_1', arguments: '{"a":1}' },
      ],
    });
  });

  it('items that nothing announced are told apart by their ids too', async () => {
    const response = await answerTo([
      { type: 'response.output_item.done', ...index, item: reasoning },
      { type: 'response.output_text.delta', ...index, item_id: 'msg_u', content_index: 0, delta: 'Hello' },
      { type: 'response.output_item.done', ...index, item: message },
      { type: 'response.output_item.done', ...index, item: call },
    ]);
    expect(response).toMatchObject({
      status: 'completed',
      output: [{ type: 'reasoning' }, { type: 'message', content: [{ text: 'Hello' }] }, { call_id: 'call_1' }],
    });
  });

  it.each([
    ['an index and ids', { ...index, item_id: 'rs_u' }, { ...index, item_id: 'msg_u' }],
    ['indexes', { output_index: 0 }, { output_index: 1 }],
    ['ids', { item_id: 'rs_u' }, { item_id: 'msg_u' }],
    ['nothing', {}, {}],
  ])('deltas begin the items that nothing announces, named by %s', async (_, first, second) => {
    const response = await answerTo([
      { type: 'response.reasoning_text.delta', ...first, delta: 'Hm' },
      { type: 'response.reasoning_text.delta', ...first, delta: '.' },
      { type: 'response.output_text.delta', ...second, delta: 'Hel' },
      { type: 'response.output_text.delta', ...second, delta: 'lo' },
    ]);
    expect(response).toMatchObject({
      status: 'completed',
      output: [
        { type: 'reasoning', content: [{ text: 'Hm.' }] },
        { type: 'message', content: [{ text: 'Hello' }] },
      ],
    });
  });
});
