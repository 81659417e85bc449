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

const isContinuable = (...texts: readonly UpstreamText[]): boolean => readUpstreamAnswer(texts).reader.isContinuable;
const ended = (type: string, members: object = {}) => ({
  type: `response.${type}`,
  response: { id: 'resp_u', ...members },
});

describe('an answer can be continued', () => {
  it.each<readonly [what: string, texts: readonly UpstreamText[]]>([
    ['with items in their final form', [added(message('')), delta(), done(message('hi')), done(call(), 1)]],
    ['without items', []],
    ['although a piece was dropped', [added(message('')), delta({ output_index: 7 }), done(message('hi'))]],
    ['although a text was the end mark', ['[DONE]']],
  ])('an answer can be continued %s', (_, texts) => {
    expect(isContinuable(...texts)).toBe(false);
    expect(isContinuable(...texts, ended('completed'))).toBe(true);
  });

  it('an answer can be continued with items that only its end has', () => {
    expect(isContinuable(added(message('')), ended('completed', { output: [message('hi'), call()] }))).toBe(true);
  });
});

describe('an answer cannot be continued', () => {
  it.each<readonly [what: string, texts: readonly UpstreamText[]]>([
    ['an item without its final form', [added(message('')), delta()]],
    ['an item that was dropped when it began', [added(call({ call_id: 'x'.repeat(65) }))]],
    ['an item that was dropped when it ended', [done(call({ call_id: 'x'.repeat(65) }))]],
    ['an item that ended as another one', [added(call()), done(call({ name: 'g' }))]],
    ['two ends of an item', [done(message('hi')), done(message('ho'))]],
    ['a text that is no event', [done(message('hi')), '{"type":']],
  ])('an answer cannot be continued with %s', (_, texts) => {
    expect(isContinuable(...texts, ended('completed'))).toBe(false);
  });

  it('an answer cannot be continued with an item that was dropped from its end', () => {
    const output = [message('hi'), call({ call_id: '' })];
    expect(isContinuable(ended('completed', { output }))).toBe(false);
  });

  it('an answer cannot be continued if the model was stopped', () => {
    expect(isContinuable(done(message('hi')), ended('incomplete'))).toBe(false);
    expect(isContinuable(done(message('hi')), ended('failed'))).toBe(false);
  });
});
