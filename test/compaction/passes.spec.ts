import { beforeEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { BackgroundLog } from '../support/background-attempts.js';
import { EARLY, longText, say, seenIn, TRIGGER } from '../support/compaction.js';
import { useService } from '../support/describe-service.js';
import { runTools, TestPolicy } from '../support/test-policy.js';

const policy = new TestPolicy();
const service = useService({ providers: [ScriptedProvider], imports: [policy.asModule()] });

beforeEach(() => {
  policy.follow = () => undefined;
  service.provider.turns.length = 0;
});

const WEATHER = { type: 'function_call', name: 'weather', callId: 'call_1' } as const;
const WEATHER_TOOLS = [{ type: 'function', name: 'weather', parameters: {} }];

const LONG = [
  { role: 'user', content: longText('first', 1500) },
  { role: 'assistant', content: 'answer' },
];
const NEW = { role: 'user', content: longText('third', 700) };

describe('a compaction between answers', () => {
  it('a compaction between answers stays with the upstream that has answered', async () => {
    const named = { type: 'metadata', provider: 'second', model: 'M', upstreamId: 'up_1' } as const;
    service.provider.reply(named, ...say('ok'));
    const first = await service.api.create({ input: LONG });
    service.provider.reply(...say('SUMMARY')).reply(...say('Done.'));
    await service.api.create({ input: [NEW], previous_response_id: first.id, context_management: EARLY });
    service.provider.reply(...say('SUMMARY')).reply(...say('Done.'));
    const compacted = await service.api.create({ input: [TRIGGER], previous_response_id: first.id });
    await service.api.create({ input: 'on', previous_response_id: compacted.id });
    const origins = service.provider.turns.slice(1).map(({ parent }) => parent?.origin);
    expect(origins).toEqual(Array(4).fill({ provider: 'second', model: 'M' }));
  });
});

describe('a background turn whose process died behind a compaction', () => {
  it('a turn that is taken over behind a compaction does not go on from what its upstream knows', async () => {
    policy.follow = () => runTools('weather');
    const named = { type: 'metadata', upstreamId: 'up_1' } as const;
    service.provider
      .reply(named, { type: 'text', delta: longText('Let', 1200) }, WEATHER)
      .reply(...say('SUMMARY'))
      .reply(...say('Lost.'));
    const request = { input: 'How?', tools: WEATHER_TOOLS as never, context_management: EARLY as never };
    const before = (await BackgroundLog.queue(service, request).run()).upTo('given', 2);
    service.provider.reply(...say('Done.'));
    await before.run();
    const seen = service.provider.turns.at(-1);
    expect(seen && seenIn(seen).slice(0, 2)).toEqual(['user How?', 'assistant [SUMMARY]']);
    expect(seen?.parent?.origin).toEqual({ provider: 'scripted' });
  });

  it('a turn that is taken over before the compaction that it asks for compacts, although a call waits', async () => {
    const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' };
    service.provider.reply(...say('SUMMARY')).reply(...say('SUMMARY'));
    const log = await BackgroundLog.queue(service, { input: [...LONG, call, TRIGGER] as never }).run();
    const again = await log.upTo('pass').run();
    expect(again.response.output.map(({ type }) => type)).toEqual(['compaction']);
  });

  it('a turn that is taken over behind a compaction has no other pass of a policy at once', async () => {
    let asked = 0;
    policy.follow = () => ({
      ahead: () => {
        asked += 1;
        return {
          isLast: false,
          generate: async function* () {
            yield say('Before.');
          },
        };
      },
    });
    const before = (await BackgroundLog.queue(service).run()).upTo('given');
    expect(asked).toBe(1);
    expect((await before.run()).texts).toEqual(['Before.', 'ok']);
    expect(asked).toBe(1);
  });
});

describe('MAX_PASSES', () => {
  const limited = useService({
    providers: [ScriptedProvider],
    imports: [policy.asModule()],
    environment: { MAX_PASSES: 2 },
  });

  it('MAX_PASSES does not count compactions', async () => {
    policy.follow = () => runTools('weather');
    limited.provider
      .reply(...say('SUMMARY'))
      .reply(WEATHER)
      .reply(...say('Done.'));
    const response = await limited.api.create({
      input: [...LONG, NEW],
      tools: WEATHER_TOOLS,
      context_management: EARLY,
    });
    expect((response['output'] as readonly { readonly type: string }[]).map(({ type }) => type)).toEqual([
      'compaction',
      'function_call',
      'message',
    ]);
  });
});
