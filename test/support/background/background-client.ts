import { expect } from '@jest/globals';
import OpenAI from 'openai';

import type { ResponseObject } from '../../../src/protocol/index.js';
import { checkEventOrder, type WireEvent } from '../../../src/testing/index.js';
import { framesOf } from '../background.js';
import { pause } from '../pause.js';
import { type OpenAnswer, RawClient } from '../raw-client.js';
import type { ServiceProcess } from '../process-service.js';

type Replica = Pick<ServiceProcess, 'client' | 'origin' | 'port'>;

const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** Creates a background response; its stream can be read again. The creator does not read it. */
export async function createResponse({ client }: Pick<Replica, 'client'>, members: object): Promise<ResponseObject> {
  const stream = await client.stream({ background: true, ...members });
  if (stream.status !== 200) throw new Error(`HTTP ${stream.status}: ${await stream.whole}`);
  const text = await stream.until('event: response.queued');
  stream.vanish();
  return (eventsOf(text)[0] as WireEvent & { readonly response: ResponseObject }).response;
}

/** The response as a replica shows it. */
export function getResponse(replica: Replica, id: string): Promise<ResponseObject> {
  return send(replica, 'GET', id);
}

/** Cancels a response by a replica. */
export function cancelResponse(replica: Replica, id: string): Promise<ResponseObject> {
  return send(replica, 'POST', `${id}/cancel`);
}

/** Deletes a response by a replica. */
export async function deleteResponse(replica: Replica, id: string): Promise<void> {
  await send(replica, 'DELETE', id);
}

async function send({ client }: Replica, method: string, path: string): Promise<ResponseObject> {
  const { status, text } = await client.send({ method, path: `/v1/responses/${path}` });
  if (status !== 200) throw new Error(`HTTP ${status}: ${text}`);
  return JSON.parse(text) as ResponseObject;
}

/** Reads the stream of a response from behind a number, on a connection of its own. */
export async function follow(replica: Pick<Replica, 'port'>, id: string, after = -1): Promise<OpenAnswer> {
  const client = new RawClient(replica.port);
  const cursor = after < 0 ? '' : `&starting_after=${after}`;
  const answer = await client.open({ path: `/v1/responses/${id}?stream=true${cursor}` });
  const close = (): void => client.close();
  answer.whole.then(close, close);
  return answer;
}

/** Reads a stream to its end, wherever it breaks. */
export async function readOn(replica: Pick<Replica, 'port'>, id: string): Promise<string> {
  let text = '';
  while (!text.endsWith('data: [DONE]\n\n')) {
    try {
      const answer = await follow(replica, id, framesOf(text).length - 1);
      if (answer.status !== 200) throw new Error(`HTTP ${answer.status}`);
      let got = '';
      await answer.whole.then(
        (whole) => (got = whole),
        async () => (got = await answer.until('')),
      );
      text += got.slice(0, got.lastIndexOf('\n\n') + 2);
    } catch {
      // Its connection was refused or reset, or its process ends.
      await pause();
    }
  }
  return text;
}

/** The events of a stream. */
export function eventsOf(text: string): readonly WireEvent[] {
  return framesOf(text).map((frame) => JSON.parse(frame.slice(frame.indexOf('\ndata: ') + 7)) as WireEvent);
}

/**
 * Proves that a stream is whole: numbers without a gap, the protocol's order, one terminal event at the end, and that
 * `GET` agrees with it. Gives the final response.
 */
export async function expectWhole(replica: Replica, id: string, text: string): Promise<ResponseObject> {
  const events = eventsOf(text);
  checkEventOrder(events);
  expect(events.filter(({ type }) => TERMINAL.has(type))).toHaveLength(1);
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  const { response } = events.at(-1) as WireEvent & { readonly response: ResponseObject };
  const { output_text: _, ...stored } = (await getResponse(replica, id)) as ResponseObject & { output_text?: string };
  expect(stored).toEqual(response);
  return response;
}

/** Reads the whole stream on a replica and proves that it is whole, for the official SDK too. */
export async function readWhole(replica: Replica, id: string): Promise<ResponseObject> {
  const response = await expectWhole(replica, id, await (await follow(replica, id)).whole);
  const sdk = new OpenAI({ apiKey: 'test', baseURL: `${replica.origin}/v1`, maxRetries: 0 });
  const final = await sdk.responses.stream({ response_id: id }).finalResponse();
  expect(final.status).toBe(response.status);
  expect(final.output.map(({ id: itemId }) => itemId)).toEqual(response.output.map(({ id: itemId }) => itemId));
  return response;
}

/** Proves that every replica gives, after every number, exactly the rest of a stream. */
export async function expectSameAfterEvery(replicas: readonly Replica[], id: string, whole: string): Promise<void> {
  const frames = framesOf(whole);
  await Promise.all(
    replicas.map(async ({ client }) => {
      for (const after of frames.keys()) {
        const { text } = await client.send({ path: `/v1/responses/${id}?stream=true&starting_after=${after}` });
        expect(framesOf(text)).toEqual(frames.slice(after + 1));
      }
    }),
  );
}
