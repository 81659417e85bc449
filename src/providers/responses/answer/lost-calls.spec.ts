import { describe, expect, it } from '@jest/globals';

import {
  added,
  call,
  done,
  message,
  readUpstreamAnswer,
  type UpstreamText,
} from '../../../../test/support/read-upstream-answer.js';

const completed = (response: object = {}) => ({ type: 'response.completed', response: { id: 'resp_u', ...response } });
const read = (...texts: readonly UpstreamText[]) => readUpstreamAnswer(texts).reader;

/** `{"a":{"a":…}}`. */
const nested = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);

describe('a call that no client can answer (upstreams §3.2)', () => {
  it.each([
    ['without a call_id', { call_id: undefined }],
    ['with an empty call_id', { call_id: '' }],
    ['with an endless call_id', { call_id: 'x'.repeat(65) }],
    ['without a name', { name: undefined }],
  ])('%s fails its answer, which would be taken for complete', (_, members) => {
    for (const texts of [
      [done(call(members)), completed()],
      [added(call(members)), done(message('hi'), 1), done(call(members)), completed()],
      [completed({ output: [call(members)] })],
    ]) {
      const { isFinished, failure } = read(...texts);
      expect([isFinished, failure?.remedy]).toEqual([false, 'retry']);
    }
  });

  it('a call that no client can answer ends the answer at once, over SSE too', () => {
    expect(readUpstreamAnswer([done(call({ name: '' })), completed()]).isOver).toEqual([false, true]);
  });
});

describe('an event of the upstream (upstreams §3.2)', () => {
  it.each([
    ['an item', (levels: number) => done({ ...message('hi'), deep: nested(levels) })],
    ['an unknown event', (levels: number) => ({ type: 'codex.odd', deep: nested(levels) })],
  ])('an event of the upstream is dropped with more levels than can be written again: %s', (_, make) => {
    expect(readUpstreamAnswer([make(200)]).counts).not.toHaveProperty('events_unparsable');
    expect(readUpstreamAnswer([make(300), make(3000)]).counts).toEqual({ events_unparsable: 2 });
  });

  it.each(['x', '7', '[1]', '"text"', ' ', '{'])('the text %j is no event', (text) => {
    expect(readUpstreamAnswer([text]).counts).toEqual({ events_unparsable: 1 });
  });

  it('an event of the upstream may have spaces around it', () => {
    expect(readUpstreamAnswer([` \n${JSON.stringify(done(message('hi')))} `]).counts).toEqual({});
  });

  it.each(['system', 'user', 7])('an event of the upstream is dropped if its message has the role %j', (role) => {
    expect(readUpstreamAnswer([done({ ...message('hi'), role })]).counts).toEqual({ events_unplaced: 1 });
  });
});
