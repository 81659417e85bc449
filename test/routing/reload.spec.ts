import type { EventEmitter } from 'node:events';
import { writeFile } from 'node:fs/promises';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { textReply } from '../support/chat-upstream/reply.js';
import { saidIn } from '../support/output.js';
import { listModels, whoAnswers } from '../support/routing/ask.js';
import {
  type RoutedService,
  type RoutedServiceOptions,
  startRoutedService,
} from '../support/routing/routed-service.js';
import { useProvidersFile } from '../support/providers-file.js';
import { SLOW_REFUSALS } from '../support/service.js';
import { ServiceLog } from '../support/service-log.js';
import type { WireEvent } from '../../src/testing/index.js';
import { openStream } from '../support/sse.js';
import { SocketClient } from '../support/socket-client.js';
import type { WireResponse } from '../support/transport.js';
import { JSON_TRANSPORT } from '../support/transports.js';
import { WatchedClock } from '../support/clocks.js';

const SECRET = 'tz-top-secret-0123456789';
const TO_A = [{ name: 'm', provider: 'a' }];
const TO_B = [{ name: 'm', provider: 'b' }];
const AGAIN = /reloaded /;
const NOT_USED = /cannot reload /;

/** What `kill -HUP` does. */
const hangUp = (): void => void (process as EventEmitter).emit('SIGHUP');

describe('a file that is read again', () => {
  const within = useProvidersFile('providers.json', { environment: SLOW_REFUSALS });
  let service: RoutedService;
  let log: ServiceLog;

  const start = async (options: Pick<RoutedServiceOptions, 'prepare'> = {}): Promise<void> => {
    service = await startRoutedService({ upstreams: { a: {}, b: {} }, models: TO_A, within, ...options });
    log = ServiceLog.begin();
  };

  afterEach(async () => {
    await service.close();
    log[Symbol.dispose]();
  });

  describe('and is sound', () => {
    beforeEach(() => start());

    it('a file that is read again is that of new turns', async () => {
      expect(await whoAnswers(service, 'm')).toBe('a');
      await service.write({ models: [...TO_B, { name: 'new', provider: 'a' }] });
      expect(await whoAnswers(service, 'm')).toBe('a');
      hangUp();
      expect(await log.written(AGAIN)).toMatch(/^log /);
      expect(await whoAnswers(service, 'm')).toBe('b');
      expect(await whoAnswers(service, 'new')).toBe('a');
      expect((await listModels(service)).map(({ id }) => id)).toEqual(['m', 'new']);
    });

    it('a file that is read again changes what upstreams are sent', async () => {
      await service.write({
        settings: { a: { headers: { 'x-key': SECRET }, forward: ['top_k'], omit: ['temperature'] } },
      });
      hangUp();
      await log.written(AGAIN);
      await JSON_TRANSPORT.run(service, { model: 'm', input: 'Hi', top_k: 1, temperature: 1 });
      const [request] = service.upstream('a').requests;
      expect(request).toMatchObject({ headers: { 'x-key': SECRET }, body: { top_k: 1 } });
      expect(request?.body).not.toHaveProperty('temperature');
      expect(log.text).not.toContain(SECRET);
    });

    it('a reload asks upstreams anew what they have', async () => {
      service.upstream('b').list([{ id: 'late' }]);
      hangUp();
      await log.written(AGAIN);
      expect(await whoAnswers(service, 'late')).toBe('b');
    });

    it('a file that is read again lets a running stream end where it began', async () => {
      service
        .upstream('a')
        .hold()
        .answer({ text: ['One', ' two'] });
      service.upstream('a').release(2);
      const answer = await openStream(`${service.baseURL}/responses`, { model: 'm', input: 'Hi' });
      if (!answer.streams) throw new Error('refused');
      const first = await nextOf(answer.events, 'response.output_text.delta');
      expect(first?.['delta']).toBe('One');
      await service.write({ models: TO_B });
      hangUp();
      await log.written(AGAIN);
      expect(await whoAnswers(service, 'm')).toBe('b');
      service.upstream('a').release();
      const last = await nextOf(answer.events, 'response.completed');
      expect(saidIn(last?.['response'] as WireResponse)).toEqual([{ text: 'One two' }]);
    });

    it('a file that is read again lets a turn end where it began that has no word yet', async () => {
      const answered = Promise.withResolvers<undefined>();
      service.upstream('a').hold();
      const turn = JSON_TRANSPORT.run(service, { model: 'm', input: 'Hi' }).finally(() => answered.resolve(undefined));
      await service.upstream('a').received();
      await service.write({ models: TO_B });
      hangUp();
      await log.written(AGAIN);
      service.upstream('a').release();
      expect(saidIn((await turn).response)).toEqual([{ text: 'a' }]);
    });

    it('a file that is read again is that of the next turn on an open socket', async () => {
      await using client = await SocketClient.open(service);
      expect(saidIn((await client.turn({ model: 'm', input: 'Hi' })).response)).toEqual([{ text: 'a' }]);
      await service.write({ models: TO_B });
      hangUp();
      await log.written(AGAIN);
      expect(saidIn((await client.turn({ model: 'm', input: 'Hi' })).response)).toEqual([{ text: 'b' }]);
    });

    it('a file that is read again keeps conversations', async () => {
      const { response } = await JSON_TRANSPORT.run(service, { model: 'm', input: 'Hi' });
      const both = [
        { provider: 'b', weight: 1e6 },
        { provider: 'a', weight: 1e-6 },
      ];
      await service.write({ models: [{ name: 'm', upstreams: both }] });
      hangUp();
      await log.written(AGAIN);
      expect(await whoAnswers(service, 'm')).toBe('b');
      const next = { model: 'm', input: 'More', previous_response_id: response.id };
      expect(saidIn((await JSON_TRANSPORT.run(service, next)).response)).toEqual([{ text: 'a' }]);
    });

    it('a file may be read twice at once', async () => {
      await service.write({ models: TO_B });
      hangUp();
      hangUp();
      await service.reload();
      await log.written(AGAIN);
      expect(await whoAnswers(service, 'm')).toBe('b');
      await service.write({ models: TO_A });
      await Promise.all([service.reload(), service.reload(), service.reload()]);
      expect(await whoAnswers(service, 'm')).toBe('a');
    });

    it('a file that is read again serves turns all the while', async () => {
      const answers: string[] = [];
      for (let round = 0; round < 10; round += 1) {
        await service.write({ models: round % 2 === 0 ? TO_B : TO_A });
        const turns = Array.from({ length: 4 }, () => JSON_TRANSPORT.run(service, { model: 'm', input: 'Hi' }));
        hangUp();
        for (const { response } of await Promise.all(turns)) {
          expect(response.status).toBe('completed');
          answers.push(JSON.stringify(saidIn(response)));
        }
      }
      expect(answers).toHaveLength(40);
    });

    it('a file that is read again may name an upstream that is not there any more', async () => {
      await service.upstream('b').close();
      hangUp();
      await log.written(AGAIN);
      expect(await whoAnswers(service, 'm')).toBe('a');
    });

    it('a file that is read again may be a record without members: then nothing is served any more', async () => {
      await writeFile(service.providersFile, '{}');
      hangUp();
      await log.written(AGAIN);
      expect(await listModels(service)).toEqual([]);
    });
  });

  describe('and cannot be used', () => {
    const faults: readonly (readonly [what: string, text: string, place: string])[] = [
      ['is no YAML', `{"providers": {"a": {"api_key": "${SECRET}`, ''],
      ['is blank', '', 'write {}'],
      ['has comments only', '# providers: {}\n', 'write {}'],
      ['is empty JSON', `"${SECRET}"`, ''],
      ['has an unknown member', JSON.stringify({ [SECRET]: 1 }), ''],
      ['names nobody', JSON.stringify({ models: [{ name: 'm', provider: SECRET }] }), 'models[0]'],
      [
        'refers to nothing',
        JSON.stringify({ models: [{ name: '${ROUTING_TEST_UNSET}', provider: 'a' }] }),
        'models[0].name',
      ],
      [
        'has a bad key',
        JSON.stringify({ providers: { a: { base_url: 'http://x/v1', api_key: `${SECRET}\n` } } }),
        'providers.a',
      ],
      [
        'has the name of another',
        JSON.stringify({ providers: { simulator: { base_url: `http://${SECRET}/` } } }),
        'simulator',
      ],
    ];

    it.each(faults)(
      'a file that cannot be used changes nothing and is logged, without its texts: it %s',
      async (_, text, place) => {
        await start();
        await writeFile(service.providersFile, text);
        hangUp();
        const line = await log.written(NOT_USED);
        expect(line).toMatch(/^error [^\n]*PROVIDERS_FILE: [^\n]*$/);
        expect(line).toContain(place);
        expect(log.text).not.toContain(SECRET);
        expect(await whoAnswers(service, 'm')).toBe('a');
        expect((await listModels(service)).map(({ id }) => id)).toEqual(['m']);
        await service.write({ models: TO_B });
        hangUp();
        await log.written(AGAIN);
        expect(await whoAnswers(service, 'm')).toBe('b');
      },
    );

    it('a file that cannot be used changes nothing about listings either', async () => {
      await start({ prepare: (upstream) => upstream('b').list([{ id: 'listed' }]) });
      service.upstream('b').listReply(textReply('', '', { status: 500 }));
      await writeFile(service.providersFile, '{');
      hangUp();
      await log.written(NOT_USED);
      expect(await whoAnswers(service, 'listed')).toBe('b');
    });
  });
});

it('turns that wait to ask again ask where they began', async () => {
  const clock = new WatchedClock();
  await using service = await startRoutedService({
    upstreams: { a: {}, b: {} },
    models: TO_A,
    common: { retries: 2 },
    overrides: [[Clock, clock]],
    prepare: (upstream) => upstream('a').refuse(503, 'openai', { 'retry-after': '2' }),
  });
  using log = ServiceLog.begin();
  const pause = clock.whenScheduled(2000);
  const turn = JSON_TRANSPORT.run(service, { model: 'm', input: 'Hi' });
  await pause;
  await service.write({ models: TO_B });
  hangUp();
  await log.written(AGAIN);
  clock.advance(2000);
  expect(saidIn((await turn).response)).toEqual([{ text: 'a' }]);
  clock.letGo();
});

describe('without a file', () => {
  it('nobody waits for SIGHUP without a file', async () => {
    const before = process.listenerCount('SIGHUP');
    await using service = await startRoutedService({ upstreams: {}, environment: { PROVIDERS_FILE: '' } });
    expect(service.port).toBeGreaterThan(0);
    expect(process.listenerCount('SIGHUP')).toBe(before);
  });

  it('a service with a file waits for SIGHUP until it ends', async () => {
    const before = process.listenerCount('SIGHUP');
    const service = await startRoutedService({ upstreams: {} });
    expect(process.listenerCount('SIGHUP')).toBe(before + 1);
    await service.close();
    expect(process.listenerCount('SIGHUP')).toBe(before);
  });
});

/** The next event of a type. */
async function nextOf(
  events: AsyncGenerator<WireEvent, void, undefined>,
  type: string,
): Promise<WireEvent | undefined> {
  for (let next = await events.next(); next.done !== true; next = await events.next()) {
    if (next.value.type === type) return next.value;
  }
  return undefined;
}
