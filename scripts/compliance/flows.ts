import type OpenAI from 'openai';

import { type Check, object, require, text, whole } from './check.ts';
import { compaction as compactionSchema, response as responseSchema } from './schemas.ts';
import { Socket } from './socket.ts';

/** Where the flows are tried. */
export interface Target {
  readonly client: OpenAI;
  readonly model: string;
}

/** One way in which clients use the API. It throws when an answer is not what the specification says. */
export interface Flow {
  readonly name: string;
  run(target: Target): Promise<void>;
}

type Members = Readonly<Record<string, unknown>>;

interface Answer extends Members {
  readonly output: readonly (Members & { readonly type: string })[];
}

/** A red pixel. */
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'Tells the weather of a place.',
  parameters: {
    type: 'object',
    properties: { location: { type: 'string' } },
    required: ['location'],
    additionalProperties: false,
  },
  strict: true,
};

/** The flows of the public compliance suite of Open Responses. */
export const FLOWS: readonly Flow[] = [
  { name: 'basic response', run: (target) => expectMessage(target, { input: 'Say hello in three words.' }) },
  { name: 'streaming', run: expectStream },
  {
    name: 'system prompt',
    run: (target) =>
      expectMessage(target, {
        input: [
          { role: 'system', content: 'You are a pirate. Answer as one.' },
          { role: 'user', content: 'Say hello.' },
        ],
      }),
  },
  { name: 'tool calling', run: expectCall },
  {
    name: 'image input',
    run: (target) =>
      expectMessage(target, {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'What do you see? Answer in one sentence.' },
              { type: 'input_image', image_url: PIXEL },
            ],
          },
        ],
      }),
  },
  {
    name: 'multi-turn',
    run: (target) =>
      expectMessage(target, {
        input: [
          { role: 'user', content: 'My name is Alice.' },
          { role: 'assistant', content: 'Hello Alice!' },
          { role: 'user', content: 'What is my name?' },
        ],
      }),
  },
  { name: 'compaction', run: expectCompaction },
  { name: 'WebSocket turns', run: expectSocketTurns },
  { name: 'WebSocket error', run: expectSocketError },
  { name: 'WebSocket again', run: expectReconnect },
];

async function send({ client, model }: Target, body: Members): Promise<Answer> {
  const answer = await client.post<Answer>('/responses', { body: { model, ...body } });
  responseSchema(answer, 'response');
  require(answer['status'] === 'completed', 'response.status', 'completed', answer['status']);
  require(answer['usage'] !== null, 'response.usage', 'an object', answer['usage']);
  return answer;
}

async function expectMessage(target: Target, body: Members): Promise<void> {
  requireText(await send(target, body));
}

/** The model calls the function, and speaks when it is given the output. */
async function expectCall(target: Target): Promise<void> {
  const question = { role: 'user', content: 'What is the weather in San Francisco?' };
  const { output } = await send(target, { input: [question], tools: [WEATHER], tool_choice: 'required' });
  const call = output.find(({ type }) => type === 'function_call');
  require(call?.['name'] === WEATHER.name, 'response.output', `a call of ${WEATHER.name}`, output);
  object({ location: text })(JSON.parse(String(call?.['arguments'])), 'arguments');
  const result = { type: 'function_call_output', call_id: call?.['call_id'], output: '{"sky": "clear"}' };
  requireText(await send(target, { input: [question, ...output, result], tools: [WEATHER], tool_choice: 'none' }));
}

async function expectStream({ client, model }: Target): Promise<void> {
  const stream = await client.responses.create({ model, input: 'Count from 1 to 5.', stream: true });
  const event: Check = object({ type: text, sequence_number: whole });
  const types: string[] = [];
  let deltas = '';
  let last: unknown;
  for await (const one of stream) {
    // Sent by some servers while a model is silent; not an event of the response.
    if ((one.type as string) === 'keepalive') continue;
    event(one, 'event');
    types.push(one.type);
    if ('response' in one) responseSchema(one.response, `${one.type}.response`);
    if (one.type === 'response.output_text.delta') deltas += one.delta;
    if (one.type === 'response.completed') last = one.response;
  }
  require(types[0] === 'response.created', 'the first event', 'response.created', types[0]);
  for (const type of [
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
  ])
    require(types.includes(type), 'the stream', type, types);
  require(types.at(-1) === 'response.completed', 'the last event', 'response.completed', types.at(-1));
  const said = requireText(last as Answer);
  require(deltas === said, 'the deltas', `the text of the response, ${said}`, deltas);
}

async function expectCompaction({ client, model }: Target): Promise<void> {
  const answer = await client.post<Answer>('/responses/compact', { body: { model, input: 'My name is Alice.' } });
  compactionSchema(answer, 'compaction');
  require(answer.output.some(
    ({ type }) => type === 'compaction',
  ), 'compaction.output', 'a compaction item', answer.output);
  const refused = await client.post('/responses/compact', { body: { input: 'Hi' } }).then(
    () => 200,
    (error: unknown) => (error as { readonly status?: number }).status,
  );
  require(refused === 400, 'a compaction without model', 'status 400', refused);
}

/** One turn continues the other on its socket, also one that is not stored. */
async function expectSocketTurns({ client, model }: Target): Promise<void> {
  await using socket = await Socket.open(client, model);
  const first = await socket.complete({ input: 'My name is Alice.', store: false });
  const next = { previous_response_id: first['id'], store: false };
  const second = await socket.complete({ ...next, input: 'What is my name?' });
  requireText(second as Answer);
  require(second['previous_response_id'] === first['id'], 'response.previous_response_id', String(first['id']), second[
    'previous_response_id'
  ]);
}

/** An error ends no socket. */
async function expectSocketError({ client, model }: Target): Promise<void> {
  await using socket = await Socket.open(client, model);
  const code = await socket.refuse({ input: 'Hi', previous_response_id: 'resp_that_never_was' });
  require(code === 'previous_response_not_found', 'error.code', 'previous_response_not_found', code);
  await socket.complete({ input: 'Say hello.' });
}

/** What is not stored is gone with its socket. */
async function expectReconnect({ client, model }: Target): Promise<void> {
  let id: unknown;
  {
    await using socket = await Socket.open(client, model);
    ({ id } = await socket.complete({ input: 'My name is Alice.', store: false }));
  }
  await using socket = await Socket.open(client, model);
  const code = await socket.refuse({ input: 'What is my name?', previous_response_id: id });
  require(code === 'previous_response_not_found', 'error.code', 'previous_response_not_found', code);
  await socket.complete({ input: 'Say hello.' });
}

/** What the messages of a response say. Throws when it is nothing. */
function requireText({ output }: Answer): string {
  const messages = output.filter(({ type }) => type === 'message');
  const parts = messages.flatMap((message) => message['content'] as readonly { readonly text?: string }[]);
  const said = parts.map((part) => part.text ?? '').join('');
  require(said !== '', 'response.output', 'a message with text', output);
  return said;
}
