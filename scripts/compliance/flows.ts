import type OpenAI from 'openai';

import { object, require, text } from './check.ts';
import { compaction as compactionSchema, event, response as responseSchema } from './schemas.ts';
import { Socket } from './socket.ts';

/** Where the flows are tried. */
export interface Target {
  readonly client: OpenAI;
  readonly model: string;
}

/** One way in which clients use the API, by the name that the public suite gives it. It throws when an answer is not what the specification says. */
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

const SYSTEM = { type: 'message', role: 'system', content: 'You are a pirate. Answer as one.' };

const UNSTORED = { store: false };

/** What a message of the user says. */
const say = (content: unknown): object => ({ type: 'message', role: 'user', content });

const NAMED = [
  say('My name is Alice.'),
  { type: 'message', role: 'assistant', content: 'Hello Alice!' },
  say('What is my name?'),
];

/** The flows of the public compliance suite of Open Responses. */
export const FLOWS: readonly Flow[] = [
  { name: 'basic-response', run: (target) => expectMessage(target, [say('Say hello in three words.')]) },
  {
    name: 'assistant-phase',
    run: (target) =>
      expectMessage(target, [
        { type: 'message', role: 'assistant', phase: 'commentary', content: 'I look up the number.' },
        { type: 'message', role: 'assistant', phase: 'final_answer', content: 'The number is four.' },
        say('Say the number again.'),
      ]),
  },
  { name: 'response-output-phase-schema', run: expectPhases },
  { name: 'streaming-response', run: expectStream },
  { name: 'system-prompt', run: (target) => expectMessage(target, [SYSTEM, say('Say hello.')]) },
  { name: 'tool-calling', run: expectCall },
  {
    name: 'image-input',
    run: (target) =>
      expectMessage(target, [
        say([
          { type: 'input_text', text: 'What do you see? Answer in one sentence.' },
          { type: 'input_image', image_url: PIXEL },
        ]),
      ]),
  },
  { name: 'multi-turn', run: (target) => expectMessage(target, NAMED) },
  { name: 'compact-response', run: expectCompaction },
  { name: 'compact-missing-model', run: expectModel },
  {
    name: 'websocket-response',
    run: (target) =>
      onSocket(target, async (socket) => {
        await expectTurn(socket, {});
      }),
  },
  {
    name: 'websocket-sequential-responses',
    run: (target) =>
      onSocket(target, async (socket) => {
        const ids = [(await expectTurn(socket, UNSTORED))['id'], (await expectTurn(socket, UNSTORED))['id']];
        require(ids[0] !== ids[1], 'response.id', 'another id', ids[1]);
      }),
  },
  { name: 'websocket-continuation', run: expectContinuation },
  { name: 'websocket-reconnect-store-false-recovery', run: expectReconnect },
  { name: 'websocket-previous-response-not-found', run: expectNotFound },
  { name: 'websocket-failed-continuation-evicts-cache', run: expectEviction },
  { name: 'websocket-compact-new-chain', run: expectNewChain },
];

async function send({ client, model }: Target, body: Members): Promise<Answer> {
  const answer = await client.post<Answer>('/responses', { body: { model, ...body } });
  return completed(answer);
}

function completed(answer: Answer): Answer {
  responseSchema(answer, 'response');
  require(answer['status'] === 'completed', 'response.status', 'completed', answer['status']);
  require(answer['usage'] !== null, 'response.usage', 'an object', answer['usage']);
  return answer;
}

async function expectMessage(target: Target, input: readonly object[]): Promise<void> {
  requireText(await send(target, { input }));
}

/** Messages of an output may say whether they are commentary or the final answer; nothing else. */
async function expectPhases(target: Target): Promise<void> {
  const answer = await send(target, { input: [say('Say hello.')] });
  const message = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [] };
  const output = ['commentary', 'final_answer'].map((phase) => ({ ...message, phase }));
  responseSchema({ ...answer, output: [...output, ...answer.output] }, 'response');
}

/** The model calls the function, and speaks when it is given the output. */
async function expectCall(target: Target): Promise<void> {
  const question = say('What is the weather in San Francisco?');
  const { output } = await send(target, { input: [question], tools: [WEATHER], tool_choice: 'required' });
  const call = output.find(({ type }) => type === 'function_call');
  require(call?.['name'] === WEATHER.name, 'response.output', `a call of ${WEATHER.name}`, output);
  object({ location: text })(JSON.parse(String(call?.['arguments'])), 'arguments');
  const result = { type: 'function_call_output', call_id: call?.['call_id'], output: '{"sky": "clear"}' };
  requireText(await send(target, { input: [question, ...output, result], tools: [WEATHER], tool_choice: 'none' }));
}

async function expectStream({ client, model }: Target): Promise<void> {
  const stream = await client.responses.create({ model, input: 'Count from 1 to 5.', stream: true });
  const types: string[] = [];
  let deltas = '';
  let last: unknown;
  for await (const one of stream) {
    // Sent by some servers while a model is silent; not an event of the response.
    if ((one.type as string) === 'keepalive') continue;
    event(one, one.type);
    types.push(one.type);
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
  const said = requireText(completed(last as Answer));
  require(deltas === said, 'the deltas', `the text of the response, ${said}`, deltas);
}

/** The window of a compaction: the messages of the user, and what stands for the rest. */
async function compact({ client, model }: Target, input: readonly object[]): Promise<Answer['output']> {
  const body = { model, input, prompt_cache_key: 'compliance' };
  const answer = await client.post<Answer>('/responses/compact', { body });
  compactionSchema(answer, 'compaction');
  const { output } = answer;
  require(output.some(({ type }) => type === 'compaction'), 'compaction.output', 'a compaction item', output);
  return output;
}

async function expectCompaction(target: Target): Promise<void> {
  await compact(target, NAMED.slice(0, 2));
}

async function expectModel({ client }: Target): Promise<void> {
  const status = await client.post('/responses/compact', { body: { input: NAMED } }).then(
    () => 200,
    (error: unknown) => (error as { readonly status?: number }).status,
  );
  require(status === 400 || status === 422, 'a compaction without model', 'status 400 or 422', status);
}

async function onSocket({ client, model }: Target, use: (socket: Socket) => Promise<void>): Promise<void> {
  await using socket = await Socket.open(client, model);
  await use(socket);
}

/** A turn that speaks. */
async function expectTurn(socket: Socket, body: Members): Promise<Answer> {
  const answer = completed((await socket.complete({ input: [say('Say hello.')], ...body })) as Answer);
  requireText(answer);
  return answer;
}

/** A turn that is refused because nobody knows what it continues. */
async function expectUnknown(socket: Socket, previous_response_id: unknown): Promise<void> {
  const code = await socket.refuse({ ...UNSTORED, previous_response_id, input: 'Go on.' });
  require(code === 'previous_response_not_found', 'error.code', 'previous_response_not_found', code);
}

/** One turn continues the other on its socket, also one that is not stored. */
async function expectContinuation(target: Target): Promise<void> {
  await onSocket(target, async (socket) => {
    const { id } = await expectTurn(socket, UNSTORED);
    const next = await expectTurn(socket, { ...UNSTORED, previous_response_id: id, input: 'Go on.' });
    const { previous_response_id: previous } = next;
    require(previous === id, 'response.previous_response_id', String(id), previous);
  });
}

/** What is not stored is gone with its socket, and the next socket begins anew. */
async function expectReconnect(target: Target): Promise<void> {
  let id: unknown;
  await onSocket(target, async (socket) => {
    ({ id } = await expectTurn(socket, UNSTORED));
  });
  await onSocket(target, async (socket) => {
    await expectUnknown(socket, id);
    await expectTurn(socket, UNSTORED);
  });
}

/** An error ends no socket. */
async function expectNotFound(target: Target): Promise<void> {
  await onSocket(target, async (socket) => {
    await expectUnknown(socket, 'resp_that_never_was');
    await expectTurn(socket, {});
  });
}

/** What a failed turn continued is forgotten: its client has to send the whole context. */
async function expectEviction(target: Target): Promise<void> {
  await onSocket(target, async (socket) => {
    const { id } = await expectTurn(socket, UNSTORED);
    const stray = { type: 'function_call_output', call_id: 'call_that_never_was', output: 'Nothing.' };
    await socket.refuse({ ...UNSTORED, previous_response_id: id, input: [stray] });
    await expectUnknown(socket, id);
  });
}

/** A window is the beginning of a new chain. */
async function expectNewChain(target: Target): Promise<void> {
  const window = await compact(target, NAMED);
  await onSocket(target, async (socket) => {
    await expectTurn(socket, { ...UNSTORED, input: [...window, say('Go on.')], tools: [] });
  });
}

/** What the messages of a response say. Throws when it is nothing. */
function requireText({ output }: Answer): string {
  const messages = output.filter(({ type }) => type === 'message');
  const parts = messages.flatMap((message) => message['content'] as readonly { readonly text?: string }[]);
  const said = parts.map((part) => part.text ?? '').join('');
  require(said !== '', 'response.output', 'a message with text', output);
  return said;
}
