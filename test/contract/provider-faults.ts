import type { ProviderFault } from './provider-fault.js';
import { wrong } from './provider-fault.js';
import * as generators from './provider-generators.js';

const { answersAnyway, calls, deaf, endsEarly, leaks, never } = generators;
const model = { id: 'm', ownedBy: 'o', created: 1 };
const lists = 'lists its models, well formed and once each';
const callsTools = 'calls tools in the form of the protocol, or answers';
const keepsApart = 'keeps concurrent turns apart';

/** Providers that do wrong. */
export const PROVIDER_FAULTS: readonly ProviderFault[] = [
  wrong(
    'was made half a second late',
    { models: async () => [{ ...model, created: 1.5 }] },
    { notices: lists, says: 'whole seconds' },
  ),
  wrong('lists a model twice', { models: async () => [model, model] }, { notices: lists, says: 'once' }),
  wrong(
    'does not know its model',
    { find: () => undefined, models: async () => [] },
    {
      notices: 'serves the model that is asked',
      says: 'GET /models/any answered 404',
    },
  ),
  wrong(
    'does not close its stream',
    { generate: () => unclosable() },
    {
      notices: 'answers over SSE',
      says: "the end of the provider's stream did not come",
    },
  ),
  wrong(
    'answers anew each time',
    { generate: generators.countUp() },
    {
      notices: 'answers alike over SSE and JSON',
      says: 'answer alike',
      deterministic: true,
    },
  ),
  wrong(
    'counts its input in fractions',
    { countTokens: async () => 1.5 },
    {
      notices: 'counts tokens in whole numbers',
      says: 'countTokens must give a whole number',
    },
  ),
  wrong(
    'counts its output backwards',
    { countOutputTokens: async () => -1 },
    {
      notices: 'counts tokens in whole numbers',
      says: 'countOutputTokens must give a whole number',
    },
  ),
  ...['reads the earlier turns', 'reads a transcript that its client resends'].map((notices) =>
    wrong('reads nothing', { generate: answersAnyway }, { notices, says: 'must read turn.context' }),
  ),
  wrong('calls what was not offered', { generate: calls('sing', '{}') }, { notices: callsTools, says: 'not sing' }),
  wrong(
    'calls with half of the arguments',
    { generate: calls('get_weather', '{"city":') },
    {
      notices: callsTools,
      says: 'a JSON object',
    },
  ),
  wrong(
    'takes no outputs',
    { generate: generators.takesNoOutputs() },
    {
      notices: 'continues with the outputs of its calls',
      says: 'a turn was refused',
    },
  ),
  wrong(
    'shares one text among its turns',
    { generate: generators.mixUp() },
    {
      notices: keepsApart,
      says: 'as they are alone',
      deterministic: true,
    },
  ),
  wrong('drops one turn for another', { generate: generators.takeOver() }, { notices: keepsApart, says: 'is failed' }),
  wrong(
    'ends early',
    { generate: endsEarly },
    {
      notices: 'keeps the rules of the stream when it goes on after finish',
      says: 'must be answered',
    },
  ),
  wrong(
    'serves one turn only',
    { generate: generators.once() },
    {
      notices: 'keeps the rules of the stream when it throws after its first event',
      says: 'a turn was refused',
    },
  ),
  ...['JSON', 'SSE', 'WebSocket'].flatMap((transport) => overEvery(transport)),
];

function overEvery(transport: string): readonly ProviderFault[] {
  const releases = `releases a silent upstream when its client leaves (${transport})`;
  const tells = `tells when its upstream fails (${transport})`;
  return [
    wrong('ends early', { generate: endsEarly }, { notices: `answers over ${transport}`, says: 'is failed' }),
    wrong(
      'does not listen to its signal',
      { generate: deaf },
      {
        notices: `stops when its client leaves (${transport})`,
        says: 'after its client had left did not come',
      },
    ),
    wrong(
      'hangs for good',
      { generate: deaf },
      {
        notices: releases,
        says: 'after its client had left did not come',
        hanging: () => ({}),
      },
    ),
    wrong(
      'leaves its upstream running',
      {},
      {
        notices: releases,
        says: 'the release of the upstream did not come',
        hanging: () => ({ released: never() }),
      },
    ),
    wrong(
      'makes good of a failure',
      { generate: answersAnyway },
      { notices: tells, says: 'must report an error', failing: {} },
    ),
    wrong(
      'tells its key',
      { generate: generators.failsOnce(leaks) },
      {
        notices: tells,
        says: 'a secret',
        failing: {},
        secrets: ['sk-acme'],
      },
    ),
  ];
}

function unclosable(): AsyncIterable<never> {
  const events = generators.endsEarly({} as never, {} as never);
  const finish = { type: 'finish', reason: 'stop' };
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () =>
        (await events.next()).done === true
          ? { value: finish as never }
          : { value: { type: 'text', delta: 'Hi' } as never },
      return: never,
    }),
  };
}
