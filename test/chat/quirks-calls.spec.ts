import { expect, it } from '@jest/globals';

import type { CallQuirks, Quirks } from '../support/chat-upstream/quirks.js';
import { callIdsIn, saidIn } from '../support/output.js';
import { deltasOf, runTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { describeService } from '../support/describe-service.js';

const tool = (name: string): object => ({ type: 'function', name, parameters: { type: 'object' }, strict: false });

/** Names that are the beginning of each other among them. */
const TOOLS = { tools: ['get_weather', 'get_weather_alerts', 'get_time', 'get'].map(tool) };

const CALLS = {
  toolCalls: [
    { name: 'get_weather', arguments: ['{"city":', '"Bern"', '}'] },
    { name: 'get_time', arguments: ['{"zone":', '"CET"', '}'] },
    { name: 'get_weather_alerts', arguments: ['{"city":', '"Oslo"', '}'] },
  ],
};
const SAID = [
  { call: 'get_weather', arguments: '{"city":"Bern"}' },
  { call: 'get_time', arguments: '{"zone":"CET"}' },
  { call: 'get_weather_alerts', arguments: '{"city":"Oslo"}' },
];
const TWICE = {
  toolCalls: [
    { name: 'get_weather', arguments: '{"city":"Bern"}' },
    { name: 'get_weather', arguments: '{"city":"Oslo"}' },
  ],
};
const SAID_TWICE = [
  { call: 'get_weather', arguments: '{"city":"Bern"}' },
  { call: 'get_weather', arguments: '{"city":"Oslo"}' },
];

const INDEXES = ['counted', 'missing', 'zero'] as const;
const IDS = ['first_chunk', 'every_chunk', 'missing', 'same', 'empty', 'null', 'last_chunk'] as const;
const NAMES = ['first_chunk', 'split', 'every_chunk', 'last_chunk'] as const;

/** Every way to identify calls that leaves it possible to tell them apart. */
const IDENTITIES = INDEXES.flatMap((callIndexes) =>
  IDS.flatMap((callIds) => NAMES.map((callNames) => ({ callIndexes, callIds, callNames }))),
).filter(({ callIndexes, callIds, callNames }) => {
  const begins = callNames !== 'last_chunk' || callIds === 'first_chunk' || callIds === 'every_chunk';
  return callIndexes === 'counted' || begins;
});

describeService(
  'calls of an upstream',
  () => startChatService(),
  (service) => {
    it.each(IDENTITIES)(
      'calls of an upstream are told apart: indexes $callIndexes, ids $callIds, names $callNames',
      async (quirks: CallQuirks) => {
        const { response } = await runTurn(service, CALLS, quirks, TOOLS);
        expect(response.status).toBe('completed');
        expect(saidIn(response)).toEqual(SAID);
        expect(callIdsIn(response)).toHaveLength(SAID.length);
      },
    );

    it.each<[string, Quirks]>([
      ['whole calls', { callArguments: 'whole' }],
      ['whole calls without a type', { callArguments: 'whole', callTypes: 'missing' }],
      ['whole calls that all have index 0', { callArguments: 'whole', callIndexes: 'zero' }],
      ['whole calls in one chunk', { callArguments: 'whole', callOrder: 'together' }],
      [
        'whole calls in one chunk without indexes',
        { callArguments: 'whole', callOrder: 'together', callIndexes: 'missing' },
      ],
      ['arguments as objects', { callArguments: 'object' }],
      ['pieces of all calls by turns', { callOrder: 'alternating' }],
      [
        'pieces of all calls by turns, known by id',
        { callOrder: 'alternating', callIndexes: 'missing', callIds: 'every_chunk' },
      ],
      ['pieces of all calls in the same chunks', { callOrder: 'together' }],
      ['the type in every piece', { callTypes: 'every_chunk' }],
      ['the type in no piece', { callTypes: 'missing' }],
      ['empty content beside', { silentContent: 'empty' }],
      ['null content beside', { silentContent: 'null' }],
      ['messages instead of deltas', { message: true }],
      ['the finish reason in the last piece', { finishWithContent: true }],
      ['one body', { json: true }],
      ['one body with arguments as objects', { json: true, callArguments: 'object' }],
      ['one body without ids and indexes', { json: true, callIds: 'missing', callIndexes: 'missing' }],
    ])('calls of an upstream come through as %s', async (_, quirks) => {
      const { response } = await runTurn(service, CALLS, quirks, TOOLS);
      expect(response.status).toBe('completed');
      expect(saidIn(response)).toEqual(SAID);
      expect(callIdsIn(response)).toHaveLength(SAID.length);
    });

    it.each<[string, Quirks]>([
      ['known by index', { callIds: 'missing' }],
      ['known by index, with the same id', { callIds: 'same' }],
      ['known by id', { callIndexes: 'missing' }],
      ['known by id, all with index 0', { callIndexes: 'zero' }],
      ['known by id, whole', { callIndexes: 'zero', callArguments: 'whole' }],
      [
        'whole, with empty ids and without indexes',
        { callIndexes: 'missing', callIds: 'empty', callArguments: 'whole' },
      ],
      ['whole, without ids and all with index 0', { callIndexes: 'zero', callIds: 'missing', callArguments: 'whole' }],
      ['in one body without ids and indexes', { json: true, callIds: 'missing', callIndexes: 'missing' }],
    ])('two calls of the same function stay two: %s', async (_, quirks) => {
      const { response } = await runTurn(service, TWICE, quirks, TOOLS);
      expect(saidIn(response)).toEqual(SAID_TWICE);
      expect(callIdsIn(response)).toHaveLength(2);
    });

    it('calls of an upstream keep the ids that the upstream gives', async () => {
      const toolCalls = [
        { name: 'get_time', id: 'chatcmpl-tool-1' },
        { name: 'get', id: 'functions.get:1' },
      ];
      const { response } = await runTurn(service, { toolCalls }, {}, TOOLS);
      expect(callIdsIn(response)).toEqual(['chatcmpl-tool-1', 'functions.get:1']);
    });

    it('calls of an upstream get another id when the conversation has theirs already', async () => {
      const before = [
        { role: 'user', content: 'What time is it?' },
        { type: 'function_call', call_id: 'call_1', name: 'get_time', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'noon' },
      ];
      const { response } = await runTurn(
        service,
        { toolCalls: [{ name: 'get_time' }] },
        {},
        { ...TOOLS, input: before },
      );
      expect(callIdsIn(response)).toEqual([expect.not.stringMatching(/^call_1$/)]);
    });

    it.each<[string, Quirks]>([
      ['null', { callArguments: 'null' }],
      ['missing', { callArguments: 'missing' }],
      ['null in one body', { callArguments: 'null', json: true }],
    ])('calls of an upstream have arguments that can be parsed when they are %s', async (_, quirks) => {
      const { response } = await runTurn(service, { toolCalls: [{ name: 'get_time' }] }, quirks, TOOLS);
      expect(saidIn(response)).toEqual([{ call: 'get_time', arguments: '{}' }]);
    });

    it('calls of an upstream stream their arguments as they come', async () => {
      const turn = await runTurn(service, { toolCalls: CALLS.toolCalls.slice(0, 1) }, {}, TOOLS);
      expect(deltasOf(turn, 'response.function_call_arguments.delta')).toEqual(['{"city":', '"Bern"', '}']);
    });

    it('calls of an upstream follow the text that was said before them', async () => {
      const { response } = await runTurn(service, { text: ['Let me', ' look.'], ...CALLS }, {}, TOOLS);
      expect(saidIn(response)).toEqual([{ text: 'Let me look.' }, ...SAID]);
    });

    it('calls of an upstream keep their place among the texts between them', async () => {
      const [first = { name: '' }, ...others] = CALLS.toolCalls;
      const { response } = await runTurn(
        service,
        [{ toolCalls: [first] }, { text: 'And' }, { toolCalls: others }],
        {},
        TOOLS,
      );
      expect(saidIn(response)).toEqual([SAID[0], { text: 'And' }, ...SAID.slice(1)]);
    });

    it('calls of an upstream get another id when theirs is longer than clients may send back', async () => {
      const toolCalls = [{ name: 'get_time', id: `call_${'x'.repeat(100)}` }];
      const { response } = await runTurn(service, { toolCalls }, {}, TOOLS);
      expect(callIdsIn(response)).toEqual([expect.stringMatching(/^.{1,64}$/)]);
    });

    it('calls of an upstream count as an ordinary end whatever the finish reason says', async () => {
      const { response } = await runTurn(service, { ...CALLS, finish: 'stop' }, {}, TOOLS);
      expect(response.status).toBe('completed');
      expect(saidIn(response)).toEqual(SAID);
    });

    it('calls of an upstream are shown although nobody offered their function', async () => {
      const { response } = await runTurn(
        service,
        { toolCalls: [{ name: 'invented', arguments: '{"a":1}' }] },
        {},
        TOOLS,
      );
      expect(saidIn(response)).toEqual([{ call: 'invented', arguments: '{"a":1}' }]);
    });

    it('calls of an upstream come through in the old member for a single call', async () => {
      const toolCalls = CALLS.toolCalls.slice(0, 1);
      const { response } = await runTurn(
        service,
        { toolCalls, finish: 'function_call' },
        { oldFunctionCall: true },
        TOOLS,
      );
      expect(response.status).toBe('completed');
      expect(saidIn(response)).toEqual(SAID.slice(0, 1));
    });

    it('calls of an upstream are incomplete where the tokens ran out within them', async () => {
      const toolCalls = [...CALLS.toolCalls.slice(0, 1), { name: 'get_time', arguments: ['{"zo'] }];
      const { response } = await runTurn(service, { toolCalls, finish: 'length' }, {}, TOOLS);
      expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
      expect(response['output']).toMatchObject([
        { name: 'get_weather', status: 'completed' },
        { name: 'get_time', arguments: '{"zo', status: 'incomplete' },
      ]);
    });
  },
);
