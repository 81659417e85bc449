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

describe('upstreams §4.4: items that a client replays', () => {
  it.each<readonly [what: string, replayed: Item]>([
    [
      'without id and status',
      { type: 'message', id: '', role: 'assistant', phase: 'final_answer', content: ANSWER['content'] },
    ],
    ['without annotations and logprobs', { ...ANSWER, content: [{ type: 'output_text', text: 'The sea.' }] }],
    ['with members in another order', Object.fromEntries(Object.entries(ANSWER).toReversed()) as Item],
    [
      'with null members',
      { ...ANSWER, namespace: null, content: [{ type: 'output_text', text: 'The sea.', annotations: null }] },
    ],
    ['with metadata of Codex', { ...ANSWER, internal_chat_message_metadata_passthrough: { turn_id: 't' } }],
  ])('the service knows its own items when a client replays them %s', (_, replayed) => {
    const next = frame(request([FIRST, replayed, say('And?')]), answered(TODAY, [ANSWER]), TODAY);
    expect(next.isIncremental).toBe(true);
    expect(next.input).toHaveLength(1);
  });

  it('the service knows reasoning with content: null, as Codex replays it', () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' };
    const next = frame(
      request([FIRST, { ...reasoning, content: null }, CALL, OUTPUT]),
      answered(TODAY, [reasoning, CALL]),
      TODAY,
    );
    expect(typesOf(next.input)).toEqual(['function_call_output']);
  });

  it('the baseline leaves out what no request can send: reasoning without its content', () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] };
    const next = frame(request([FIRST, reasoning, CALL, OUTPUT]), answered(TODAY, [reasoning, CALL]), TODAY);
    expect(typesOf(next.input)).toEqual(['function_call_output']);
  });

  it.each<readonly [what: string, replayed: Item]>([
    ['another text of the same length', { ...ANSWER, content: [{ type: 'output_text', text: 'The sky.' }] }],
    ['another number', { ...ANSWER, weight: 2 }],
    ['a text in place of a number', { ...ANSWER, weight: '1' }],
    ['members of one part in another', { ...ANSWER, content: [{ type: 'output_text' }, { text: 'The sea.' }] }],
    ['two members as one', { ...ANSWER, content: [{ text: 'The sea.typeoutput_text' }] }],
    ['half of a surrogate pair', { ...ANSWER, name: '\ud800' }],
  ])('items that a client replays are others with %s', (_, replayed) => {
    const known = { ...ANSWER, weight: 1, name: '\udfff' };
    const next = (item: Item) => frame(request([FIRST, item, say('And?')]), answered(TODAY, [known]), TODAY);
    expect(next({ ...known, id: 'x' }).isIncremental).toBe(true);
    expect(next({ ...known, ...replayed }).isIncremental).toBe(false);
  });
});
