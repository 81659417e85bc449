import { afterAll, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { useService } from '../support/describe-service.js';
import { PausingClock } from '../support/clocks.js';
import { startRoutedService } from '../support/routing/routed-service.js';
import { SocketClient } from '../support/socket-client.js';
import { TRANSPORTS } from '../support/transports.js';

const VENDOR = {
  top_k: 40,
  min_p: 0.05,
  nvext: { annotations: ['worker_id'], deep: { list: [1, null, 'é'] } },
  guided_choice: ['a', 'b'],
  ignore_eos: false,
  seed: null,
  chat_template_kwargs: { language: 'de' },
};
const UNLISTED = { best_of: 3, vendor_extension: { secret: true } };
const LISTED = Object.keys(VENDOR);

const UPSTREAMS = {
  lists: { forward: LISTED },
  other: { forward: ['repetition_penalty'] },
  none: {},
  thinks: { forward: ['chat_template_kwargs', 'top_k'], capabilities: { reasoning_switch: 'enable_thinking' } },
  omits: {
    forward: ['top_k', 'min_p'],
    omit: ['top_k', 'temperature', 'metadata', 'stream_options', 'not_there'],
  },
};

describe.each(['typos', 'ignore', 'reject'] as const)('with UNKNOWN_PARAMETERS=%s', (UNKNOWN_PARAMETERS) => {
  const clock = new PausingClock();
  // Before it closes.
  afterAll(() => clock.letGo());
  const service = useService(() =>
    startRoutedService({
      overrides: [[Clock, clock]],
      upstreams: UPSTREAMS,
      models: [
        ...Object.keys(UPSTREAMS).map((name) => ({ name, provider: name })),
        {
          name: 'both',
          upstreams: [
            { provider: 'lists', weight: 1e6 },
            { provider: 'none', weight: 1e-6 },
          ],
        },
      ],
      environment: { UNKNOWN_PARAMETERS },
    }),
  );

  /** The body that an upstream gets. */
  function bodyOf(name: string): Readonly<Record<string, unknown>> {
    return service.upstream(name).requests.at(-1)?.body ?? {};
  }

  describe.each(TRANSPORTS)('on $name', (transport) => {
    const run = (model: string, members: object): ReturnType<typeof transport.run> =>
      transport.run(service, { model, input: 'Hi', ...members });

    it('listed members reach the provider that lists them as they are', async () => {
      await run('lists', VENDOR);
      expect(bodyOf('lists')).toMatchObject(VENDOR);
    });

    it('what is not sent is not there', async () => {
      await run('lists', { top_k: 1 });
      expect(LISTED.filter((name) => name in bodyOf('lists'))).toEqual(['top_k']);
    });

    it('members that another provider lists do not reach one that does not', async () => {
      for (const model of ['none', 'other']) {
        await run(model, VENDOR);
        expect(LISTED.filter((name) => name in bodyOf(model))).toEqual([]);
      }
    });

    it('members go along to the next upstream only if it lists them as well', async () => {
      // Nobody rests any more.
      clock.advance(60_000);
      service.upstream('lists').refuse(500);
      await run('both', VENDOR);
      expect(bodyOf('lists')).toMatchObject(VENDOR);
      expect(LISTED.filter((name) => name in bodyOf('none'))).toEqual([]);
    });

    it('members that nobody lists never reach an upstream', async () => {
      const before = service.upstream('lists').requests.length;
      const turn = run('lists', { ...VENDOR, ...UNLISTED });
      if (UNKNOWN_PARAMETERS === 'reject') {
        await expect(turn).rejects.toMatchObject({
          status: 400,
          body: { error: { code: 'unknown_parameter', param: 'best_of' } },
        });
        expect(service.upstream('lists').requests).toHaveLength(before);
      } else {
        await turn;
        expect(Object.keys(UNLISTED).filter((name) => name in bodyOf('lists'))).toEqual([]);
      }
    });

    it('members that are handed on are not echoed', async () => {
      const { response } = await run('lists', VENDOR);
      expect(LISTED.filter((name) => name in response)).toEqual([]);
    });

    it('members of an upstream are merged with what the service puts there, and the client has the last word', async () => {
      const reasoning = { effort: 'high' };
      await run('thinks', { reasoning, chat_template_kwargs: { language: 'de' } });
      expect(bodyOf('thinks')['chat_template_kwargs']).toEqual({ enable_thinking: true, language: 'de' });
      await run('thinks', { reasoning, chat_template_kwargs: { enable_thinking: false } });
      expect(bodyOf('thinks')['chat_template_kwargs']).toEqual({ enable_thinking: false });
      await run('thinks', { reasoning, top_k: 3 });
      expect(bodyOf('thinks')).toMatchObject({ chat_template_kwargs: { enable_thinking: true }, top_k: 3 });
      await run('thinks', { chat_template_kwargs: 'odd' });
      expect(bodyOf('thinks')['chat_template_kwargs']).toBe('odd');
    });

    it('members that an upstream does not take are left out, whoever put them there', async () => {
      await run('omits', { top_k: 1, min_p: 0.1, temperature: 0.5, top_p: 0.9, metadata: { a: 'b' } });
      const body = bodyOf('omits');
      expect(UPSTREAMS.omits.omit.filter((name) => name in body)).toEqual([]);
      expect(body).toMatchObject({ min_p: 0.1, top_p: 0.9, stream: transport.name !== 'json', model: 'omits' });
    });

    it('what is left out upstream is not left out of the response', async () => {
      const { response } = await run('omits', { temperature: 0.5, metadata: { a: 'b' } });
      expect(response).toMatchObject({ temperature: 0.5, metadata: { a: 'b' } });
    });
  });

  it('listed members of a later turn of a conversation are its own', async () => {
    const first = await service.client().responses.create({ model: 'lists', input: 'Hi', top_k: 7 } as never);
    const { id } = first as unknown as { readonly id: string };
    await service.client().responses.create({ model: 'lists', input: 'More', previous_response_id: id });
    expect(bodyOf('lists')).not.toHaveProperty('top_k');
  });

  it('listed members may stand in either form of a message on a socket', async () => {
    await using client = await SocketClient.open(service);
    client.send({ type: 'response.create', response: { model: 'lists', input: 'Hi', top_k: 8 } });
    await client.finish();
    expect(bodyOf('lists')).toMatchObject({ top_k: 8 });
    client.send({ type: 'response.create', model: 'lists', input: 'Hi', top_k: 9, stream_id: 'lane' });
    await client.finish('lane');
    expect(bodyOf('lists')).toMatchObject({ top_k: 9 });
    expect(['stream_id', 'type', 'response'].filter((name) => name in bodyOf('lists'))).toEqual([]);
  });
});

describe('members of the API that are listed', () => {
  const CHECKED = [
    'service_tier',
    'safety_identifier',
    'prompt_cache_key',
    'prompt_cache_retention',
    'prompt_cache_options',
  ];

  describe.each(['typos', 'ignore', 'reject'] as const)('with UNKNOWN_PARAMETERS=%s', (UNKNOWN_PARAMETERS) => {
    const service = useService(() =>
      startRoutedService({
        upstreams: { a: { forward: CHECKED } },
        models: [{ name: 'm', provider: 'a' }],
        environment: { UNKNOWN_PARAMETERS },
      }),
    );

    it.each(CHECKED)('members of the API that are handed on are checked all the same: %s', async (param) => {
      for (const transport of TRANSPORTS) {
        await expect(transport.run(service, { model: 'm', input: 'Hi', [param]: 7 })).rejects.toMatchObject({
          status: 400,
          body: { error: { param, type: 'invalid_request_error' } },
        });
      }
      expect(service.asked()).toEqual([]);
    });

    it('members of the API are handed on as they are', async () => {
      service.forget();
      const members = { service_tier: 'flex', safety_identifier: 'user-1', prompt_cache_key: 'key-1' };
      for (const transport of TRANSPORTS) await transport.run(service, { model: 'm', input: 'Hi', ...members });
      for (const { body } of service.upstream('a').requests) expect(body).toMatchObject(members);
    });
  });
});

describe('members of every object that are listed', () => {
  it('listed members of every object reach nobody unless they are sent', async () => {
    const forward = ['constructor', 'toString', 'hasOwnProperty', 'top_k'];
    await using service = await startRoutedService({
      upstreams: { a: { forward } },
      models: [{ name: 'm', provider: 'a' }],
      environment: { UNKNOWN_PARAMETERS: 'reject' },
    });
    for (const transport of TRANSPORTS) {
      await transport.run(service, { model: 'm', input: 'Hi', top_k: 1 });
      const body = service.upstream('a').requests.at(-1)?.body ?? {};
      expect(forward.filter((name) => Object.hasOwn(body, name))).toEqual(['top_k']);
    }
  });
});
