import { beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';

import { type ModelEvent, ResponseStore, StoreUnavailableError } from '../../src/index.js';
import { checkEventOrder, ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { useService } from '../support/describe-service.js';
import { RecordingObserver } from '../support/recording-observer.js';
import { startService } from '../support/service.js';
import { collectStream, openStream, postJson } from '../support/sse.js';

const MESSAGE = 'The response could not be saved. Please retry your request.';
const answer: readonly ModelEvent[] = [
  { type: 'text', delta: 'All done.' },
  { type: 'usage', input: 1, output: 2 },
];

describe('a store that fails', () => {
  const observer = new RecordingObserver();
  const service = useService({ providers: [ScriptedProvider], imports: [observer.asModule()] });
  let store: ResponseStore;
  let url: string;

  beforeAll(() => {
    store = service.app.get(ResponseStore);
    url = `${service.baseURL}/responses`;
  });

  beforeEach(() => void (observer.records.length = 0));

  const body = { model: 'scripted', input: 'Go on.' };

  const whileFailing = async <T>(method: 'save' | 'chain' | 'get', run: () => Promise<T>): Promise<T> => {
    const spy = jest.spyOn(store, method).mockRejectedValue(new StoreUnavailableError('secret of the storage'));
    try {
      return await run();
    } finally {
      spy.mockRestore();
    }
  };

  it('a store that fails ends a stream with response.failed, and the id cannot be continued', async () => {
    service.app.get(ScriptedProvider).reply(...answer);
    const events = await whileFailing('save', () => collectStream(url, body));
    checkEventOrder(events, { transport: 'sse' });
    const response = events.at(-1)?.['response'] as Record<string, unknown>;
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: MESSAGE },
      output: [{ status: 'completed', content: [{ text: 'All done.' }] }],
      usage: { total_tokens: 3 },
    });
    const continued = await postJson(url, { ...body, previous_response_id: response['id'] });
    expect(continued).toMatchObject({ status: 400, body: { error: { code: 'previous_response_not_found' } } });
    expect((await fetch(`${url}/${String(response['id'])}`)).status).toBe(404);
    expect(observer.records).toMatchObject([{ status: 'failed', errorCode: 'server_error' }, { status: 'refused' }]);
  });

  it('a turn answers 503 in JSON when the store fails', async () => {
    service.app.get(ScriptedProvider).reply(...answer);
    const refused = await whileFailing('save', () => postJson(url, body));
    expect(refused).toMatchObject({
      status: 503,
      body: { error: { type: 'service_unavailable_error', code: 'service_unavailable', message: MESSAGE } },
    });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(observer.records).toHaveLength(1);
    expect(observer.records[0]?.status).toMatch(/^(failed|refused)$/);
  });

  it('a store that fails does not matter to a turn that is not stored', async () => {
    const done = await whileFailing('save', () => postJson(url, { ...body, store: false }));
    expect(done).toMatchObject({ status: 200, body: { status: 'completed' } });
  });

  it.each([false, true])('a turn answers 503 when the chain cannot be read (stream: %s)', async (streams) => {
    const { body: parent } = await postJson(url, body);
    const next = { ...body, previous_response_id: (parent as { id: string }).id };
    const send = streams ? openStream : postJson;
    const refused = await whileFailing<{ readonly headers: Headers }>('chain', () => send(url, next));
    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'service_unavailable' } } });
    expect(JSON.stringify(refused)).not.toContain('secret');
    expect(refused.headers.get('retry-after')).toBe('1');
  });

  it('the service answers 503 when a response cannot be read', async () => {
    const { body: stored } = await postJson(url, body);
    const { status, text } = await whileFailing('get', async () => {
      const response = await fetch(`${url}/${(stored as { id: string }).id}`);
      return { status: response.status, text: await response.text() };
    });
    expect(status).toBe(503);
    expect(text).not.toContain('secret');
  });

  it('a store that fails says when it is closed how many lines it left out of its log', async () => {
    const closing = await startService({ providers: [ScriptedProvider] });
    using log = ServiceLog.begin();
    try {
      jest.spyOn(closing.app.get(ResponseStore), 'save').mockRejectedValue(new StoreUnavailableError('away'));
      for (let turn = 1; turn <= 3; turn += 1) await postJson(`${closing.baseURL}/responses`, body);
      expect(log.complaints).toEqual([expect.stringMatching(/: away Turn$/)]);
    } finally {
      await closing.close();
    }
    expect(log.complaints).toContain('2 more in the last minute: away Turn');
  });
});
