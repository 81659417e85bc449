import { describe, expect, it } from '@jest/globals';

import {
  added,
  call,
  delta,
  done,
  message,
  readUpstreamAnswer,
  type UpstreamText,
} from '../../../../test/support/read-upstream-answer.js';

describe('what does not fit together is dropped and counted', () => {
  const open = [added(message('')), added(call(), 1), added({ type: 'reasoning', id: 'rs_1', summary: [] }, 2)];
  const summary = (part: unknown, text: unknown = 'x') => ({
    type: 'response.reasoning_summary_text.delta',
    output_index: 2,
    item_id: 'rs_1',
    summary_index: part,
    delta: text,
  });
  const annotation = (members: object) => ({
    ...delta({ delta: undefined }),
    type: 'response.output_text.annotation.added',
    annotation_index: 0,
    annotation: {},
    ...members,
  });

  it.each<[string, UpstreamText]>([
    ['a delta for an item of another type', delta({ output_index: 1, item_id: 'fc_1' })],
    ['a delta of an odd part', delta({ content_index: 'first' })],
    ['a delta that is no text', delta({ delta: { odd: 7 } })],
    ['a delta that is missing', delta({ delta: undefined })],
    ['a summary part that is none', summary(-1)],
    ['a summary that is no text', summary(0, {})],
    ['an annotation that is none', annotation({ annotation: 'x' })],
    ['an annotation far ahead', annotation({ annotation_index: 1 })],
    ['an annotation of an item of another type', annotation({ output_index: 2, item_id: 'rs_1' })],
    ['a second item of an index', added({ type: 'message', id: 'msg_2', content: [] })],
    ['a second item of an id', added(message(''), 9)],
    ['a second call of a call_id', added(call({ id: 'fc_2' }), 9)],
    ['an item that nothing can name', { type: 'response.output_item.added', item: { type: 'message' } }],
    ['an item without a type', added({ id: 'msg_2' }, 9)],
    ['an event without its item', { type: 'response.output_item.added', output_index: 9 }],
    ['a call without a name', added(call({ id: 'fc_2', call_id: 'call_2', name: undefined }), 9)],
    ['a call without a call_id', added(call({ id: 'fc_2', call_id: null }), 9)],
    ['a call with an endless call_id', added(call({ id: 'fc_2', call_id: 'x'.repeat(65) }), 9)],
    ['an end with another type', done({ type: 'reasoning', id: 'msg_1', summary: [] })],
    ['an end with another call_id', done(call({ call_id: 'call_2' }), 1)],
    ['an end with another name', done(call({ name: 'g' }), 1)],
    ['an end without content', done({ type: 'message', id: 'msg_1' })],
    ['an end with content that is none', done({ ...message(''), content: [7] })],
    ['an end with a text that is none', done({ ...message(''), content: [{ type: 'output_text' }] })],
    ['an event of an item of another type', { type: 'response.web_search_call.searching', output_index: 0 }],
    ['an event of no item', { type: 'response.web_search_call.searching', output_index: 7 }],
    ['a completion without a response', { type: 'response.completed' }],
    ['an incomplete response without a response', { type: 'response.incomplete' }],
  ])('%s is dropped and counted', (_, text) => {
    const before = readUpstreamAnswer(open).events;
    const { events, counts, reader } = readUpstreamAnswer([...open, text]);
    expect([events, counts]).toEqual([before, { events_unplaced: 1 }]);
    expect([reader.isFinished, reader.failure]).toEqual([false, null]);
  });

  it.each<[string, UpstreamText, object]>([
    ['of an index that only its id contradicts', delta({ output_index: 7 }), { key: '0', part: 0 }],
    ['of an unknown id without an index', delta({ output_index: undefined, item_id: 'msg_7' }), { key: '0', part: 0 }],
    ['that names two items, of which one has its type', delta({ item_id: 'fc_1' }), { key: '0', part: 0 }],
    ['of a part far ahead', delta({ content_index: 2 }), { key: '0', part: 0 }],
    ['of a summary part far ahead', summary(1), { key: '2', part: 0 }],
    [
      'of a part of reasoning far ahead',
      { ...summary(0), type: 'response.reasoning_text.delta', content_index: 1 },
      { key: '2', part: 0 },
    ],
  ])('a delta is read %s', (_, text, place) => {
    const { events, counts } = readUpstreamAnswer([...open, text]);
    expect([events.slice(3), counts]).toEqual([[expect.objectContaining(place)], {}]);
  });

  it('an item is read whose index is none, and an end at a wrong index', () => {
    const ended = done(message('hi'), 9);
    const { events, counts } = readUpstreamAnswer([...open, added({ type: 'message', id: 'msg_2' }, -1), ended]);
    expect(events.slice(3)).toMatchObject([
      { type: 'item.open', key: '3' },
      { type: 'item.close', key: '0' },
    ]);
    expect(counts).toEqual({});
  });

  it('a delta and an end after the end', () => {
    const ended = [added(message('')), done(message('hi'))];
    const { events, counts } = readUpstreamAnswer([...ended, delta(), done(message('hi'))]);
    expect([events, counts]).toEqual([readUpstreamAnswer(ended).events, { events_unplaced: 2 }]);
  });

  it('empty deltas are dropped uncounted', () => {
    const { events, counts } = readUpstreamAnswer([...open, delta({ delta: '' }), summary(0, '')]);
    expect([events, counts]).toEqual([readUpstreamAnswer(open).events, {}]);
  });

  it('a part of another type than it began with', () => {
    const refusal = { ...delta(), type: 'response.refusal.delta' };
    const { events, counts } = readUpstreamAnswer([...open, delta(), refusal]);
    expect([events.slice(3), counts]).toEqual([
      [{ type: 'text', delta: 'hi', part: 0, key: '0' }],
      { events_unplaced: 1 },
    ]);
  });

  it('an annotation that would begin a text behind another one', () => {
    const { events, counts } = readUpstreamAnswer([...open, delta(), annotation({ content_index: 1 })]);
    expect([events.length, counts]).toEqual([4, { events_unplaced: 1 }]);
  });

  it('parts in order are not dropped', () => {
    const refusal = { ...delta({ content_index: 2 }), type: 'response.refusal.delta' };
    const texts = [delta(), delta({ content_index: 1 }), annotation({ content_index: 1 }), refusal, delta()];
    const { events, counts } = readUpstreamAnswer([...open, ...texts, annotation({ content_index: 3 })]);
    expect(events.slice(3).map((event) => [event.type, 'part' in event && event.part])).toEqual([
      ['text', 0],
      ['text', 1],
      ['annotation', false],
      ['refusal', 2],
      ['annotation', false],
    ]);
    expect(counts).toEqual({ events_unplaced: 1 });
  });

  it('deltas without an index of their part are not dropped', () => {
    const refusal = { ...delta({ content_index: undefined }), type: 'response.refusal.delta' };
    const plain = delta({ content_index: undefined });
    const { events } = readUpstreamAnswer([...open, plain, plain, refusal, plain]);
    expect(events.slice(3).map((event) => 'part' in event && event.part)).toEqual([0, 0, 1, 2]);
  });

  it('summary parts in order are not dropped', () => {
    const { events, counts } = readUpstreamAnswer([...open, summary(0), summary(0), summary(1), summary(0)]);
    expect(events.slice(3).map((event) => 'part' in event && event.part)).toEqual([0, 0, 1]);
    expect(counts).toEqual({ events_unplaced: 1 });
  });
});
