import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { streaming } from '../support/responses-upstream/reply.js';
import { MODEL, startResponsesService } from '../support/responses-upstream/start-responses-service.js';
import { TRANSPORTS } from '../support/transports.js';

const reasoning = { type: 'reasoning', id: 'rs_u', summary: [], content: 'Hm.' };
const message = { type: 'message', id: 'msg_u', role: 'assistant', content: 'Hello' };
const call = { type: 'function_call', id: 'fc_u', call_id: 'call_1', name: 'look', arguments: { a: 1 } };
const items = [reasoning, message, call];

const ending = (output: readonly object[]) => ({ type: 'response.completed', response: { id: 'resp_u', output } });
const begun = { type: 'response.output_item.added', output_index: 0, item: { ...call, arguments: {} } };

describe.each(TRANSPORTS)('items in another form than that of the API, over $name', (transport) => {
  const service = useService(() => startResponsesService());

  it.each([
    ['when they end', [...items.map((item) => ({ type: 'response.output_item.done', item })), ending([])]],
    ['in the response that ends', [ending(items)]],
  ])('contents that are texts and arguments that are an object are read %s', async (_, events) => {
    service.upstream.respond(streaming(events));
    const { response } = await transport.run(service, { model: MODEL, input: 'Hi' });
    expect(response).toMatchObject({
      status: 'completed',
      output: [
        { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Hm.' }] },
        { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] },
        { type: 'function_call', call_id: 'call_1', arguments: '{"a":1}' },
      ],
    });
  });

  it.each([
    [5, '5'],
    [[1], '[1]'],
    [true, 'true'],
  ])('arguments that are %j are read', async (sent, json) => {
    const item = { ...call, arguments: sent };
    service.upstream.respond(streaming([{ type: 'response.output_item.done', output_index: 0, item }, ending([])]));
    const { response } = await transport.run(service, { model: MODEL, input: 'Hi' });
    expect(response).toMatchObject({ status: 'completed', output: [{ call_id: 'call_1', arguments: json }] });
  });

  it.each([
    ['content is an object', { ...message, content: { type: 'output_text', text: 'Hello' } }],
    ['content is a list of texts', { ...message, content: ['Hello'] }],
    ['role is model', { ...message, role: 'model' }],
  ])('a message is read whose %s', async (_, item) => {
    service.upstream.respond(streaming([{ type: 'response.output_item.done', output_index: 0, item }, ending([])]));
    const { response } = await transport.run(service, { model: MODEL, input: 'Hi' });
    const output = [{ role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }];
    expect(response).toMatchObject({ status: 'completed', output });
  });

  it.each([['Hm.'], [['Hm.']]])('a summary of reasoning is read that is %j', async (summary) => {
    const item = { ...reasoning, summary };
    service.upstream.respond(streaming([{ type: 'response.output_item.done', output_index: 0, item }, ending(items)]));
    const { response } = await transport.run(service, { model: MODEL, input: 'Hi' });
    const [thought] = response['output'] as readonly unknown[];
    expect(thought).toMatchObject({ summary: [{ type: 'summary_text', text: 'Hm.' }] });
  });

  it('arguments that are an object are read from the event that ends them', async () => {
    const whole = { type: 'response.function_call_arguments.done', output_index: 0, arguments: { a: 1 } };
    service.upstream.respond(streaming([begun, whole, ending([])]));
    const { response } = await transport.run(service, { model: MODEL, input: 'Hi' });
    expect(response).toMatchObject({ status: 'completed', output: [{ call_id: 'call_1', arguments: '{"a":1}' }] });
  });
});
