import assert from 'node:assert/strict';
import { once } from 'node:events';

import type OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { WebSocket } from 'ws';

import { requireItem, requireResponse } from './shapes.ts';

/** What a flow runs against. */
export interface Setting {
  readonly client: OpenAI;
  readonly model: string;
  readonly socketUrl: string;
  readonly apiKey: string;
}

/** A flow. Rejects with an Error that says what was wrong. */
export interface Flow {
  readonly name: string;
  readonly run: (setting: Setting) => Promise<void>;
}

/** One red pixel. */
const IMAGE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

const WEATHER_TOOL = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather at a place',
  strict: true,
  parameters: {
    type: 'object',
    properties: { location: { type: 'string' } },
    required: ['location'],
    additionalProperties: false,
  },
} as const;

/** The flows of the public suite: requests over HTTP, and what a socket keeps. */
export const FLOWS: readonly Flow[] = [
  {
    name: 'basic response',
    run: async ({ client, model }) => {
      requireResponse(await client.responses.create({ model, input: [user('Say hello in exactly three words.')] }));
    },
  },
  {
    name: 'streaming',
    run: async ({ client, model }) => {
      const events = await collect(
        await client.responses.create({ model, input: [user('Count from one to five.')], stream: true }),
      );
      requireOrder(events);
      requireResponse(responseOf(events.at(-1)));
    },
  },
  {
    name: 'system prompt',
    run: async ({ client, model }) => {
      const system = { type: 'message', role: 'system', content: 'Speak like a pirate.' } as const;
      requireResponse(await client.responses.create({ model, input: [system, user('Say hello.')] }));
    },
  },
  {
    name: 'tool calling',
    run: async ({ client, model }) => {
      const asked = await client.responses.create({
        model,
        input: [user('What is the weather in Paris?')],
        tools: [WEATHER_TOOL],
        tool_choice: 'required',
      });
      requireResponse(asked);
      const call = asked.output.find((item) => item.type === 'function_call');
      assert.ok(call !== undefined, 'no function was called');
      assert.equal(call.name, WEATHER_TOOL.name);
      assert.equal(typeof (JSON.parse(call.arguments) as { readonly location?: unknown }).location, 'string');
      const output = { type: 'function_call_output', call_id: call.call_id, output: '{"sky":"blue"}' } as const;
      const answered = await client.responses.create({
        model,
        input: [output],
        previous_response_id: asked.id,
        tools: [WEATHER_TOOL],
      });
      requireResponse(answered);
    },
  },
  {
    name: 'image input',
    run: async ({ client, model }) => {
      const content = [
        { type: 'input_text', text: 'What is in this picture?' },
        { type: 'input_image', image_url: IMAGE, detail: 'auto' },
      ] as const;
      requireResponse(
        await client.responses.create({ model, input: [{ type: 'message', role: 'user', content: [...content] }] }),
      );
    },
  },
  {
    name: 'multi-turn conversation',
    run: async ({ client, model }) => {
      const answer = { type: 'message', role: 'assistant', content: 'Hello Alice!' } as const;
      const input = [user('My name is Alice.'), answer, user('What is my name?')];
      requireResponse(await client.responses.create({ model, input }));
    },
  },
  {
    name: 'continuation by previous_response_id',
    run: async ({ client, model }) => {
      const first = await client.responses.create({ model, input: 'My name is Alice.' });
      const second = await client.responses.create({
        model,
        input: 'What is my name?',
        previous_response_id: first.id,
      });
      requireResponse(second);
      assert.equal(second.previous_response_id, first.id);
    },
  },
  {
    name: 'websocket: turns on one socket, and a new one that does not know what was not stored',
    run: async (setting) => {
      const first = await converse(setting, [{ input: 'Hello.', store: false }]);
      const { id } = responseOf(first.at(-1)?.at(-1)) as { readonly id: string };
      const [lost, fresh] = await converse(setting, [{ input: 'And?', previous_response_id: id }, { input: 'Again.' }]);
      const refusal = lost?.at(-1) as { readonly type?: string; readonly error?: { readonly code?: string } };
      assert.equal(refusal.type, 'error', 'what was not stored was found on another socket');
      assert.equal(refusal.error?.code, 'previous_response_not_found');
      requireResponse(responseOf(fresh?.at(-1)));
    },
  },
];

function user(content: string) {
  return { type: 'message', role: 'user', content } as const;
}

async function collect(stream: AsyncIterable<ResponseStreamEvent>): Promise<readonly ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Numbers without a gap, `response.created` first, items added before they are done, and one terminal event, which is the last. */
function requireOrder(events: readonly ResponseStreamEvent[]): void {
  const numbered = events.filter(({ type }) => (type as string) !== 'keepalive');
  assert.equal(numbered[0]?.type, 'response.created');
  for (const [index, event] of numbered.entries()) assert.equal(event.sequence_number, index, 'sequence_number');
  assert.equal(numbered.at(-1)?.type, 'response.completed');
  const open = new Set<number>();
  for (const event of numbered) {
    if (event.type === 'response.output_item.added') {
      requireItem(event.item, 'item');
      open.add(event.output_index);
    } else if (event.type === 'response.output_item.done') {
      assert.ok(open.delete(event.output_index), 'an item was done before it was added');
    }
  }
  assert.equal(open.size, 0, 'an item was not done');
}

function responseOf(event: unknown): unknown {
  return (event as { readonly response?: unknown } | undefined)?.response;
}

/** Runs turns one after the other on one socket; returns the frames of each, up to its terminal event or error. */
async function converse(
  { socketUrl, apiKey, model }: Setting,
  requests: readonly object[],
): Promise<readonly (readonly unknown[])[]> {
  const socket = new WebSocket(socketUrl, { headers: { authorization: `Bearer ${apiKey}` } });
  try {
    await once(socket, 'open');
    const turns: unknown[][] = [];
    for (const request of requests) turns.push(await takeTurn(socket, { type: 'response.create', model, ...request }));
    return turns;
  } finally {
    socket.terminate();
  }
}

const LAST = new Set(['error', 'response.completed', 'response.incomplete', 'response.failed']);

function takeTurn(socket: WebSocket, frame: object): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const frames: unknown[] = [];
    socket.on('message', (data: Buffer) => {
      const received = JSON.parse(String(data)) as { readonly type: string };
      frames.push(received);
      if (!LAST.has(received.type)) return;
      socket.removeAllListeners('message');
      resolve(frames);
    });
    socket.once('close', (code) => reject(new Error(`the socket was closed with ${code}`)));
    socket.send(JSON.stringify(frame));
  });
}
