import { describe, expect, it } from '@jest/globals';

import { readUpstreamAnswer } from '../../../../test/support/read-upstream-answer.js';
import type { UpstreamError } from '../upstream-error.js';

const created = { type: 'response.created', response: { id: 'resp_u' } };
const ending = (type: string, response: unknown) => ({ type: `response.${type}`, response });
const item = { type: 'message', id: 'msg_1', role: 'assistant', content: [] };
const opened = { type: 'response.output_item.added', output_index: 0, item };
const failedWith = (error: unknown) => ending('failed', { id: 'resp_u', error });
const causeOf = (failure: UpstreamError | null) => failure && [failure.message, failure.remedy];

const USAGE = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 15,
};
const COUNTED = { type: 'usage', input: 10, cached: 4, cacheWrite: 2, output: 5, reasoning: 3, searches: 0 };

describe('§3.2 response.completed', () => {
  it('response.completed ends the answer, with its usage, its tier and its id', () => {
    const response = { id: 'resp_v', usage: USAGE, service_tier: 'priority' };
    const { events, isOver, reader } = readUpstreamAnswer([created, ending('completed', response)]);
    expect(events).toEqual([
      { type: 'metadata', upstreamId: 'resp_u' },
      COUNTED,
      { type: 'metadata', upstreamId: 'resp_v' },
      { type: 'finish', reason: 'stop', serviceTier: 'priority' },
    ]);
    expect([isOver, reader.isFinished, reader.hasOutput, reader.responseId]).toEqual([
      [false, true],
      true,
      true,
      'resp_v',
    ]);
  });

  it.each([
    ['no usage', undefined, undefined],
    ['null', null, undefined],
    ['no details', { ...USAGE, input_tokens_details: undefined, output_tokens_details: undefined }, [0, 0, 0]],
    ['null for details', { ...USAGE, input_tokens_details: null, output_tokens_details: null }, [0, 0, 0]],
    ['no cache writes', { ...USAGE, input_tokens_details: { cached_tokens: 4 } }, [4, 0, 3]],
  ])('response.completed takes the usage as it is: %s', (_, usage, counts) => {
    const [, counted] = readUpstreamAnswer([created, ending('completed', { id: 'resp_u', usage })]).events;
    const [cached, cacheWrite, reasoning] = counts ?? [];
    expect(counted).toEqual(
      counts === undefined ? { type: 'finish', reason: 'stop' } : { ...COUNTED, cached, cacheWrite, reasoning },
    );
  });

  it.each<[string, object]>([
    ['no id', {}],
    ['an id that is no text', { id: 7 }],
    ['usage that is no object', { id: 'resp_u', usage: 7 }],
    ['usage without input', { id: 'resp_u', usage: { ...USAGE, input_tokens: undefined } }],
    ['usage without a total', { id: 'resp_u', usage: { ...USAGE, total_tokens: undefined } }],
    ['negative usage', { id: 'resp_u', usage: { ...USAGE, output_tokens: -1 } }],
    ['usage beyond any model', { id: 'resp_u', usage: { ...USAGE, input_tokens: 2 ** 31 } }],
    ['broken usage', { id: 'resp_u', usage: { ...USAGE, output_tokens: 1.5 } }],
    ['details without a count', { id: 'resp_u', usage: { ...USAGE, input_tokens_details: {} } }],
    ['details that are none', { id: 'resp_u', usage: { ...USAGE, output_tokens_details: 'x' } }],
  ])('response.completed is a failure that may be retried if it has %s', (_, response) => {
    for (const transport of ['sse', 'websocket'] as const) {
      const { reader, events, isOver } = readUpstreamAnswer([ending('completed', response)], { transport });
      expect(causeOf(reader.failure)).toEqual([expect.stringMatching(/^failed to parse ResponseCompleted: /), 'retry']);
      expect([events, reader.isFinished, isOver]).toEqual([[], false, [transport === 'websocket']]);
    }
  });

  it('response.completed of a response that is incomplete or failed ends it as the response says', () => {
    const details = { incomplete_details: { reason: 'content_filter' } };
    const stopped = readUpstreamAnswer([ending('completed', { id: 'resp_u', status: 'incomplete', ...details })]);
    expect(stopped.events.at(-1)).toEqual({ type: 'finish', reason: 'content_filter' });
    const error = { code: 'invalid_prompt', message: 'No.' };
    const { reader } = readUpstreamAnswer([ending('completed', { id: 'resp_u', status: 'failed', error })]);
    expect(causeOf(reader.failure)).toEqual(['invalid_prompt: No.', 'none']);
    expect(reader.isFinished).toBe(false);
  });

  it('response.completed ignores whatever follows', () => {
    const over = [ending('completed', { id: 'resp_u' }), opened, failedWith({}), 'x'];
    const { events, counts, isOver, reader } = readUpstreamAnswer(over);
    expect([events.length, counts, isOver]).toEqual([2, {}, [true, true, true, true]]);
    expect(reader.failure).toBeNull();
  });
});

describe('§3.2 response.done', () => {
  const february = { profile: 'codex-2026-02' } as const;

  it.each([
    ['without a response', undefined, ''],
    ['without an id', { usage: USAGE }, ''],
    ['with an id', { id: 'resp_u' }, 'resp_u'],
  ])('response.done ends a response of February 2026, %s', (_, response, id) => {
    const { reader, events } = readUpstreamAnswer([ending('done', response)], february);
    expect([reader.isFinished, reader.responseId]).toEqual([true, id]);
    expect(events.some(({ type }) => type === 'metadata')).toBe(id !== '');
  });

  it('response.done is ignored since', () => {
    const { reader, events } = readUpstreamAnswer([ending('done', { id: 'resp_u' })]);
    expect([reader.isFinished, events]).toEqual([false, []]);
  });
});

describe('response.incomplete', () => {
  it.each([
    ['max_output_tokens', { reason: 'length' }],
    ['content_filter', { reason: 'content_filter' }],
    ['max_messages', { reason: 'length', incompleteReason: 'max_messages' }],
    ['interrupted', { reason: 'length', incompleteReason: 'interrupted' }],
    [undefined, { reason: 'length' }],
    [7, { reason: 'length' }],
  ])('response.incomplete ends the answer as the upstream says: %s', (reason, finish) => {
    const response = { id: 'resp_u', usage: USAGE, service_tier: 'flex', incomplete_details: { reason } };
    const { events, isOver } = readUpstreamAnswer([created, ending('incomplete', response)]);
    expect(events.slice(1)).toEqual([COUNTED, { type: 'finish', serviceTier: 'flex', ...finish }]);
    expect(isOver).toEqual([false, true]);
  });

  it('response.incomplete leaves its open items incomplete, and survives usage that is none', () => {
    const { events } = readUpstreamAnswer([opened, ending('incomplete', { id: 'resp_u', usage: 7 })]);
    expect(events.map(({ type }) => type)).toEqual(['item.open', 'metadata', 'finish']);
  });

  it('response.incomplete takes the final form of items from its output', () => {
    const { events } = readUpstreamAnswer([opened, ending('incomplete', { id: 'resp_u', output: [item] })]);
    expect(events[1]).toEqual({ type: 'item.close', key: '0', item });
  });
});

describe('§3.3 response.failed over SSE', () => {
  const { reader, events, isOver } = readUpstreamAnswer([
    created,
    ending('failed', { id: 'resp_u', error: { code: 'invalid_prompt', message: 'No.' }, usage: USAGE }),
  ]);

  it('response.failed is kept until the stream ends', () => {
    expect(isOver).toEqual([false, false]);
    expect(causeOf(reader.failure)).toEqual(['invalid_prompt: No.', 'none']);
  });

  it('response.failed has used tokens, which are no output', () => {
    expect(events).toEqual([{ type: 'metadata', upstreamId: 'resp_u' }, COUNTED]);
    expect(reader.hasOutput).toBe(false);
  });

  it('response.failed does not matter if the response is completed after all', () => {
    const again = readUpstreamAnswer([failedWith({}), ending('completed', { id: 'resp_u' })]);
    expect([again.reader.failure, again.reader.isFinished]).toEqual([null, true]);
  });

  it('response.failed is counted once if the response is completed after all', () => {
    const { reader, events } = readUpstreamAnswer([ending('failed', { usage: { ...USAGE, output_tokens: 3 } })]);
    reader.read(JSON.stringify(ending('completed', { id: 'resp_u', usage: USAGE })));
    const counts = [...events, ...reader.take()].filter((event) => event.type === 'usage');
    const sum = (name: 'input' | 'output' | 'cached') => counts.reduce((total, event) => total + (event[name] ?? 0), 0);
    expect([sum('input'), sum('output'), sum('cached')]).toEqual([COUNTED.input, COUNTED.output, COUNTED.cached]);
  });

  it.each([undefined, null, 7, {}])('response.failed survives a response that is none: %j', (response) => {
    const { failure } = readUpstreamAnswer([ending('failed', response)]).reader;
    expect(causeOf(failure)).toEqual(['response.failed event received', 'retry']);
  });
});

describe('§4.3 on a socket', () => {
  const socket = { transport: 'websocket' } as const;

  it('response.failed is reported at once', () => {
    const { reader, isOver } = readUpstreamAnswer(
      [failedWith({ code: 'server_error', message: 'Oh.' }), opened],
      socket,
    );
    expect(isOver).toEqual([true, true]);
    expect(causeOf(reader.failure)).toEqual(['server_error: Oh.', 'retry']);
    expect(reader.take()).toEqual([]);
  });

  it('an error frame is reported at once', () => {
    const frame = { type: 'error', status: 400, error: { code: 'invalid_value', message: 'No.' } };
    const { reader, isOver } = readUpstreamAnswer([frame], socket);
    expect(isOver).toEqual([true]);
    expect(causeOf(reader.failure)).toEqual([expect.stringContaining('invalid_value'), 'none']);
  });

  it.each([{ type: 'error' }, { type: 'error', status: 200, error: {} }])('%j is ignored', (frame) => {
    const { reader, isOver, counts } = readUpstreamAnswer([frame, created], socket);
    expect([reader.failure, isOver, counts]).toEqual([null, [false, false], {}]);
  });
});

describe('an error event over SSE', () => {
  it.each([
    [{ code: 'rate_limit_exceeded', message: 'Slow.', param: null }, 'rate_limit_exceeded: Slow.'],
    [{ error: { code: 'rate_limit_exceeded', message: 'Slow.' } }, 'rate_limit_exceeded: Slow.'],
    [{ status: 429, error: { code: 'rate_limit_exceeded', message: 'Slow.' } }, expect.stringContaining('429')],
  ])('an error event over SSE is kept until the stream ends: %j', (members, message) => {
    const { reader, isOver } = readUpstreamAnswer([{ type: 'error', ...members }]);
    expect([reader.failure?.message, isOver]).toEqual([message, [false]]);
  });

  it('an error event over SSE says less than the response.failed that follows, or that came before', () => {
    const error = { type: 'error', code: null, message: 'Something.' };
    const failed = failedWith({ code: 'invalid_prompt', message: 'No.' });
    for (const texts of [
      [error, failed],
      [failed, error],
    ]) {
      expect(causeOf(readUpstreamAnswer(texts).reader.failure)).toEqual(['invalid_prompt: No.', 'none']);
    }
  });
});
