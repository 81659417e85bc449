import { describe, expect, it } from '@jest/globals';

import type { Item } from '../../../protocol/index.js';
import {
  ANSWER,
  answered,
  CALL,
  FIRST,
  frame,
  OUTPUT,
  request,
  say,
  TODAY,
  typesOf,
} from '../../../../test/support/upstream-frames.js';
import { baselineAfter } from './baseline.js';

describe('upstreams §4.4: a continuation of the response that a socket answered last', () => {
  const parent = { upstreamId: 'resp_u1' };
  const thought = { type: 'reasoning', id: 'rs_1', summary: [] };
  const baseline = answered(TODAY, [CALL, thought, ANSWER]);

  it('a continuation of the last response of a socket has only the new items', () => {
    const wanted = request([FIRST, CALL, thought, ANSWER, OUTPUT, say('And?')], {
      parent,
      input: [OUTPUT, say('And?')],
    });
    expect(frame(wanted, baseline, TODAY)).toMatchObject({ previous_response_id: 'resp_u1', isIncremental: true });
    expect(typesOf(frame(wanted, baseline, TODAY).input)).toEqual(['function_call_output', 'message']);
  });

  it('a continuation compares what the upstream returned, and nothing before it', () => {
    const untouched = new Proxy(FIRST, {
      ownKeys: () => {
        throw new Error('the item was read');
      },
    });
    expect(frame(request([untouched, CALL, ANSWER, OUTPUT], { parent }), baseline, TODAY).isIncremental).toBe(true);
  });

  it.each<readonly [what: string, context: readonly Item[]]>([
    ['lost an item', [FIRST, ANSWER, OUTPUT]],
    ['lost all of them', [FIRST, OUTPUT]],
    ['has another text', [FIRST, CALL, { ...ANSWER, content: [{ type: 'output_text', text: 'The sky.' }] }, OUTPUT]],
    ['has another order', [FIRST, ANSWER, CALL, OUTPUT]],
    ['has one more', [FIRST, say('By a policy.'), CALL, ANSWER, OUTPUT]],
  ])('a continuation sends everything if the transcript %s', (_, context) => {
    const next = frame(request(context, { parent }), baseline, TODAY);
    expect(next).not.toHaveProperty('previous_response_id');
    expect(next.input).toHaveLength(context.length);
  });

  it('a continuation sends everything on a new socket, or with another member', () => {
    const context = [FIRST, CALL, ANSWER, OUTPUT];
    expect(frame(request(context, { parent }), null, TODAY).isIncremental).toBe(false);
    const changed = { parent, parameters: { instructions: 'Be brief.' } };
    expect(frame(request(context, changed), baseline, TODAY).isIncremental).toBe(false);
  });

  it('a continuation looks at the whole context when it may be cut', () => {
    const auto = { parameters: { truncation: 'auto' } };
    const cut = request([say('Listen.'), CALL, OUTPUT], { ...auto, parent });
    expect(frame(cut, answered(TODAY, [CALL], auto), TODAY).isIncremental).toBe(false);
  });

  it('a continuation is a baseline in turn', () => {
    const next = request([FIRST, CALL, ANSWER, OUTPUT], { parent });
    frame(next, baseline, TODAY);
    const after = baselineAfter(next, 'resp_u2', [ANSWER], TODAY);
    const replayed = request([FIRST, CALL, ANSWER, OUTPUT, ANSWER, say('And?')]);
    expect(frame(replayed, after, TODAY)).toMatchObject({
      previous_response_id: 'resp_u2',
      input: [{ role: 'user' }],
    });
  });

  it('a continuation that was sent whole is a baseline too', () => {
    const retried = request([FIRST, CALL, ANSWER, OUTPUT], { parent });
    frame(retried, baseline, TODAY);
    frame(retried, null, TODAY);
    const after = baselineAfter(retried, 'resp_u2', [ANSWER], TODAY);
    expect(after.count).toBe(5);
    expect(frame(request([FIRST, CALL, ANSWER, OUTPUT, ANSWER]), after, TODAY)).toMatchObject({
      input: [],
      isIncremental: true,
    });
  });
});
