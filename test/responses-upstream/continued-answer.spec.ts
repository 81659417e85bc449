import { describe, expect, it } from '@jest/globals';

import type { Item } from '../../src/protocol/index.js';
import { baselineAfter } from '../../src/providers/responses/request/baseline.js';
import { ANSWER, assemble, type Event } from '../support/assembled-answer.js';
import { readUpstreamAnswer } from '../support/read-upstream-answer.js';
import { FIRST, frame, request, say, TODAY } from '../support/upstream-frames.js';

/** The frame after an answer whose transcript was changed. */
function nextAfter(answer: readonly Event[], change: (output: readonly Item[]) => readonly Item[] = (items) => items) {
  const read = readUpstreamAnswer(answer);
  const baseline = baselineAfter(request([FIRST]), 'resp_u', read.reader.output, TODAY);
  const { output } = assemble(read).at(-1)?.['response'] as { readonly output: readonly Item[] };
  const context = [FIRST, ...change(output), say('And?')];
  return frame(request(context, { parent: { upstreamId: 'resp_u' } }), baseline, TODAY);
}

describe('upstreams §4.4: the transcript of an answer', () => {
  it('the transcript of an answer has what the upstream returned, as far as the next request is concerned', () => {
    expect(nextAfter(ANSWER)).toMatchObject({ previous_response_id: 'resp_u', input: [{ role: 'user' }] });
  });

  it.each<readonly [what: string, item: Event]>([
    ['nothing optional', { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }],
    ['reasoning without its summary', { type: 'reasoning', id: 'rs_1', encrypted_content: 'gAAAA' }],
    ['null members', { type: 'function_call', id: null, call_id: 'c', name: 'f', namespace: null, arguments: '{}' }],
  ])('the transcript of an answer is known with %s', (_, item) => {
    const answer = [
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id: 'resp_u' } },
    ];
    expect(nextAfter(answer).isIncremental).toBe(true);
  });

  it('the transcript of an answer is another one if a policy changed it', () => {
    expect(nextAfter(ANSWER, (output) => output.slice(1)).isIncremental).toBe(false);
    expect(nextAfter(ANSWER, (output) => output.toReversed()).isIncremental).toBe(false);
  });
});
