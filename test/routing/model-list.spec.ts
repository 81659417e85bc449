import { afterEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import type { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import { textReply } from '../support/chat-upstream/reply.js';
import { PausingClock } from '../support/clocks.js';
import { ask, listModels, retrieveModel, whoAnswers } from '../support/routing/ask.js';
import {
  type RoutedService,
  type RoutedServiceOptions,
  startRoutedService,
} from '../support/routing/routed-service.js';
import { useProvidersFile } from '../support/providers-file.js';
import { ServiceLog } from '../support/service-log.js';
import { SLOW_REFUSALS } from '../support/service.js';

const THREE = { one: {}, two: {}, three: {} };

describe('the list of models', () => {
  let service: RoutedService;

  const within = useProvidersFile('providers.json', { environment: SLOW_REFUSALS });
  const start = async (options: RoutedServiceOptions): Promise<void> => {
    service = await startRoutedService({ within, ...options });
  };

  const names = async (): Promise<readonly string[]> => (await listModels(service)).map(({ id }) => id);

  afterEach(() => service.close());

  it('the list of models has the names of the file in its order, then what each provider lists, everything once', async () => {
    await start({
      upstreams: THREE,
      models: [
        { name: 'z', provider: 'two' },
        { glob: '*', provider: 'one' },
        { name: 'alias', alias: 'z' },
        { prefix: 'p/', provider: 'one' },
        { name: 'shared', provider: 'three', model: 'else' },
        { default: true, provider: 'one' },
        { name: 'a', upstreams: [{ provider: 'one' }, { provider: 'two' }] },
      ],
      prepare: (upstream) => {
        upstream('one').list([{ id: 'one/b' }, { id: 'one/a' }, { id: 'one/b' }]);
        upstream('two').list([{ id: 'shared' }, { id: 'two/a' }]);
        upstream('three').list([{ id: 'two/a' }, { id: 'three/a' }, { id: 'z' }]);
      },
    });
    expect(await names()).toEqual(['z', 'alias', 'shared', 'a', 'one/b', 'one/a', 'two/a', 'three/a']);
    const list = await fetch(`${service.baseURL}/models`);
    expect(await list.json()).toMatchObject({ object: 'list', models: [] });
  });

  it('the list of models says whose they are: as the file says, as the upstream says, or by the name of the provider', async () => {
    await start({
      upstreams: { one: {}, two: { discover: false } },
      models: [
        { name: 'of-the-file', provider: 'one', model: 'known', owned_by: 'us' },
        { name: 'of-the-upstream', provider: 'one', model: 'known' },
        { name: 'alias', alias: 'of-the-file' },
        { name: 'alias-with-owner', alias: 'of-the-file', owned_by: 'them' },
        { name: 'unknown', provider: 'one', model: 'not-listed' },
        { name: 'undiscovered', provider: 'two' },
        { name: 'several', upstreams: [{ provider: 'two' }, { provider: 'one', model: 'known' }] },
      ],
      prepare: (upstream) => {
        upstream('one').list([
          { id: 'known', owned_by: 'vendor', created: 1_700_000_000 },
          { id: 'nobodys', owned_by: undefined, created: 'yesterday' as never },
        ]);
      },
    });
    const owners = Object.fromEntries((await listModels(service)).map(({ id, owned_by }) => [id, owned_by]));
    expect(owners).toEqual({
      'of-the-file': 'us',
      'of-the-upstream': 'vendor',
      alias: 'us',
      'alias-with-owner': 'them',
      unknown: 'one',
      undiscovered: 'two',
      several: 'two',
      known: 'vendor',
      nobodys: 'one',
    });
    for (const { object, created } of await listModels(service)) {
      expect([object, Number.isSafeInteger(created)]).toEqual(['model', true]);
    }
    expect(await retrieveModel(service, 'of-the-upstream')).toMatchObject({ body: { created: 1_700_000_000 } });
  });

  it('the list of models leaves out of a list what is no model', async () => {
    const odd = [null, 7, 'text', {}, { id: '' }, { id: 7 }, { id: 'fine' }, [], { object: 'model' }];
    await start({
      upstreams: { one: {} },
      prepare: (upstream) =>
        upstream('one').listReply(textReply(JSON.stringify({ object: 'list', data: odd }), 'application/json')),
    });
    expect(await names()).toEqual(['fine']);
  });

  it('the list of models takes a bare list', async () => {
    await start({
      upstreams: { one: {} },
      prepare: (upstream) => upstream('one').listReply(textReply('[{"id":"bare"}]', 'application/json')),
    });
    expect(await ask(service, 'bare')).toEqual({ by: 'one', as: 'bare', echoed: 'bare' });
  });

  it.each<readonly [what: string, spoil: (upstream: ChatUpstream) => unknown]>([
    [
      'refuses',
      (upstream) => upstream.listReply(textReply('{"error":{"message":"no"}}', 'application/json', { status: 401 })),
    ],
    ['fails', (upstream) => upstream.listReply(textReply('', '', { status: 500 }))],
    ['has no such page', (upstream) => upstream.listReply(textReply('', '', { status: 404 }))],
    ['answers a page', (upstream) => upstream.listReply(textReply('<html>Sign in</html>', 'text/html'))],
    ['answers half of it', (upstream) => upstream.listReply(textReply('{"data":[{"id":"ha', 'application/json'))],
    ['answers something else', (upstream) => upstream.listReply(textReply('{"data":{"id":"x"}}', 'application/json'))],
    ['answers null', (upstream) => upstream.listReply(textReply('null', 'application/json'))],
    ['says nothing', (upstream) => upstream.listReply('silent')],
    ['is not there', (upstream) => upstream.close()],
  ])('the list of models is not spoiled by an upstream that %s', async (_, spoil) => {
    await start({
      upstreams: THREE,
      models: [{ name: 'configured', provider: 'one' }],
      prepare: (upstream) => {
        upstream('two').list([{ id: 'two/a' }]);
        upstream('three').list([{ id: 'three/a' }]);
        spoil(upstream('two'));
      },
    });
    expect(await names()).toEqual(['configured', 'three/a']);
    expect(await whoAnswers(service, 'three/a')).toBe('three');
    expect(await whoAnswers(service, 'two/a')).toBe('model_unavailable');
  });

  it('the list of models keeps what an upstream listed before it went away', async () => {
    await start({ upstreams: THREE, prepare: (upstream) => upstream('two').list([{ id: 'two/a' }, { id: 'two/b' }]) });
    service.upstream('two').listReply(textReply('', '', { status: 503 }));
    expect(await names()).toEqual(['two/a', 'two/b']);
    expect(await whoAnswers(service, 'two/b')).toBe('two');
  });

  it('the list of models follows what an upstream lists', async () => {
    await start({ upstreams: THREE, prepare: (upstream) => upstream('two').list([{ id: 'two/a' }, { id: 'two/b' }]) });
    service.upstream('two').list([{ id: 'two/b' }, { id: 'two/c' }]);
    expect(await names()).toEqual(['two/b', 'two/c']);
    expect(await whoAnswers(service, 'two/a')).toBe('model_not_found');
  });

  it('the list of models has only what the file names of upstreams that it names, unless they are to be discovered', async () => {
    await start({
      upstreams: { one: { discover: undefined }, two: { discover: undefined }, three: { discover: true } },
      models: [{ name: 'm', upstreams: [{ provider: 'one', model: 'one/a' }, { provider: 'three' }] }],
      prepare: (upstream) => ['one', 'two', 'three'].forEach((name) => upstream(name).list([{ id: `${name}/a` }])),
    });
    expect(await names()).toEqual(['m', 'two/a', 'three/a']);
    expect(await whoAnswers(service, 'one/a')).toBe('model_not_found');
    expect(await whoAnswers(service, 'two/a')).toBe('two');
  });

  describe('of an upstream that was silent', () => {
    const PAUSE_MS = 5000;
    let clock: PausingClock;
    let log: ServiceLog;

    /** Starts with an upstream that does not list its model yet, and lets it do so from then on. */
    async function startSilent(): Promise<void> {
      clock = new PausingClock();
      log = new ServiceLog();
      service = await startRoutedService({
        upstreams: { one: {}, two: {} },
        imports: [log.asModule()],
        overrides: [[Clock, clock]],
        prepare: (upstream) => upstream('two').listReply(textReply('', '', { status: 503 })),
      });
      expect(await log.written(/did not list its models: 'two'/)).toMatch(/^warn /);
      service.upstream('two').list([{ id: 'late' }]);
    }

    afterEach(() => {
      clock.letGo();
      log[Symbol.dispose]();
    });

    it.each(['the list', 'a name that nobody knows'])(
      'the list of an upstream that was silent is asked for in the background with %s',
      async (what) => {
        await startSilent();
        const look = what === 'the list' ? names : async () => [await whoAnswers(service, 'late')];
        // The question goes out with the first look, and every later one may have its answer.
        for (let seen = await look(); !seen.includes('late') && !seen.includes('two'); seen = await look()) {
          expect(seen).toEqual(what === 'the list' ? [] : ['model_unavailable']);
        }
        expect(await ask(service, 'late')).toMatchObject({ by: 'two' });
      },
    );

    it('the list of an upstream that was silent is not asked for again and again', async () => {
      await startSilent();
      service.upstream('two').listReply(textReply('', '', { status: 503 }));
      const { listings } = service.upstream('two');
      for (let round = 0; round < 5; round += 1) await whoAnswers(service, 'late');
      expect(listings.length).toBeLessThanOrEqual(2);
      clock.advance(PAUSE_MS);
      await whoAnswers(service, 'late');
      expect(listings.length).toBeLessThanOrEqual(3);
    });
  });

  it('the list of models is asked for once by many who ask at the same time', async () => {
    await start({ upstreams: { one: {} }, prepare: (upstream) => upstream('one').list([{ id: 'a' }]) });
    const { listings } = service.upstream('one');
    const before = listings.length;
    const lists = await Promise.all(Array.from({ length: 20 }, () => names()));
    expect(lists).toEqual(lists.map(() => ['a']));
    expect(listings.length - before).toBeLessThan(20);
  });

  it('the list of models is asked for with the credentials, headers and query of the provider', async () => {
    await start({
      upstreams: { one: { api_key: 'key-of-one', headers: { 'x-team': 'agents' }, query: { 'api-version': '1' } } },
    });
    expect(service.upstream('one').listings[0]).toMatchObject({
      url: '/v1/models?api-version=1',
      headers: { authorization: 'Bearer key-of-one', 'x-team': 'agents' },
    });
  });
});
