import { describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { streaming } from '../support/responses-upstream/reply.js';
import { MODEL, startResponsesService } from '../support/responses-upstream/start-responses-service.js';
import { TRANSPORTS } from '../support/transports.js';

const reasoning = { type: 'reasoning', id: 'rs_u', summary: [] };
const message = { type: 'message', id: 'msg_u', role: 'assistant', content: [] };

const added = (item: object, index = 0) => ({ type: 'response.output_item.added', output_index: index, item });
const done = (item: object, index = 0) => ({ type: 'response.output_item.done', output_index: index, item });
const completed = { type: 'response.completed', response: { id: 'resp_u', output: [] } };
const text = (delta: unknown, place: object) => ({ type: 'response.output_text.delta', delta, ...place });

const HELLO = { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] };

describe.each(TRANSPORTS)('content at odd places, over $name', (transport) => {
  const service = useService(() => startResponsesService());

  /** The response to a stream of these events. */
  async function answerTo(events: readonly (object | { raw: string })[]): Promise<unknown> {
    service.upstream.respond(streaming([...events, completed]));
    return (await transport.run(service, { model: MODEL, input: 'Hi' })).response;
  }

  it.each<[form: string, events: readonly object[], output: readonly object[]]>([
    ['an index far ahead', [text('Hel', { output_index: 5 }), text('lo', { output_index: 5 })], [HELLO]],
    [
      'an index behind a gap',
      [done(reasoning), text('Hello', { output_index: 2, item_id: 'msg_u' })],
      [{ type: 'reasoning' }, HELLO],
    ],
    ['a content_index behind a gap', [added(message), text('Hello', { output_index: 0, content_index: 3 })], [HELLO]],
    [
      'a summary_index behind a gap',
      [
        added(reasoning),
        { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 1, delta: 'Hm' },
        text('Hello', { output_index: 1 }),
      ],
      [{ type: 'reasoning', summary: [{ text: 'Hm' }] }, HELLO],
    ],
    ['the index behind a dropped item', [added({ id: 'odd' }), text('Hello', { output_index: 1 })], [HELLO]],
    ['an event before it that is no JSON', [{ raw: '{"broken' }, text('Hello', { output_index: 0 })], [HELLO]],
    ['a wrong index and a known id', [added(message), text('Hello', { output_index: 4, item_id: 'msg_u' })], [HELLO]],
  ])('a text is delivered that has %s', async (_, events, output) => {
    expect(await answerTo(events)).toMatchObject({ status: 'completed', output });
  });
});
