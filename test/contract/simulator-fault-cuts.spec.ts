import { once } from 'node:events';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ClientOptions } from 'ws';

import { ServiceLog } from '../support/service-log.js';
import { ConnectionTracker } from '../support/connection-tracker.js';
import { useService } from '../support/describe-service.js';
import { openSocket, receiveAll } from '../support/raw-socket.js';
import { RecordingObserver } from '../support/recording-observer.js';
import type { WireEvent } from '../../src/testing/index.js';
import { type Service, startService } from '../support/service.js';
import { type SocketEnd, SocketClient } from '../support/socket-client.js';
import { openStream, postJson } from '../support/sse.js';
import { askFor } from '../support/simulator-requests.js';
import { JSON_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const DEFLATE: ClientOptions = { perMessageDeflate: { threshold: 0 } };
const PLAIN: ClientOptions = { perMessageDeflate: false };
/** Ends with 1006: nobody said goodbye. */
const BROKEN: SocketEnd = { code: 1006, reason: '' };
const OPENING = [
  'response.created',
  'response.in_progress',
  'response.output_item.added',
  'response.content_part.added',
];
/** Hard to compress and long to send; `created` repeats them. */
const LONG_INSTRUCTIONS = Array.from({ length: 200_000 }, (_, index) => (index * 2_654_435_761) % 4_294_967_296).join(
  ' ',
);

const deltas = (count: number): readonly string[] => Array<string>(count).fill('response.output_text.delta');

describe('a connection that a fault cuts', () => {
  let observer: RecordingObserver;
  let tracker: ConnectionTracker;
  let log: ServiceLog;

  // Before it closes.
  afterAll(() => log[Symbol.dispose]());
  const service = useService(async () => {
    observer = new RecordingObserver();
    return startService({
      imports: [observer.asModule()],
      environment: { SIMULATOR_CONTROL: true, MAX_RUNNING_TURNS: 2 },
    });
  });

  beforeAll(() => {
    tracker = new ConnectionTracker(service);
    log = ServiceLog.begin();
  });

  beforeEach(() => {
    observer.records.length = 0;
  });

  /** Whatever was cut: nothing of it is left, and the service goes on. */
  afterEach(async () => {
    for (const { responseId, status, errorCode } of observer.records) {
      expect([status, errorCode]).toEqual(['disconnected', null]);
      expect((await fetch(`${service.baseURL}/responses/${responseId}`)).status).toBe(404);
    }
    await tracker.whenSockets(0);
    const connections = await fetch(`${service.baseURL}/connections`);
    expect(await connections.json()).toMatchObject({ data: [] });
    for (const transport of TRANSPORTS) {
      const { response } = await transport.run(service, askFor(''));
      expect(response.status).toBe('completed');
    }
    expect(log.complaints).toEqual([]);
  });

  it.each([1, 3, 30])('a cut breaks a stream after %i deltas, and not before', async (after) => {
    const { events, error } = await streamUntilBroken(service, askFor(`fault=cut; after=${after}`));
    expect(events.map(({ type }) => type)).toEqual([...OPENING, ...deltas(after)]);
    expect(error).toMatchObject({ message: 'terminated' });
    await observer.whenSettled(1);
  });

  it('a cut breaks a stream after all deltas of an answer that is shorter', async () => {
    const { events, error } = await streamUntilBroken(service, askFor('fault=cut; after=100000'));
    expect(events.at(-1)?.type).toBe('response.output_text.delta');
    expect(events.length).toBeGreaterThan(20);
    expect(error).toMatchObject({ message: 'terminated' });
  });

  it.each([true, false])('a cut leaves an empty reply where nothing was said, streaming: %s', async (stream) => {
    expect(await exchange(service, askFor('fault=cut; after=0', { stream }))).toBe('');
    await observer.whenSettled(1);
  });

  it.each([1, 30, 100_000])('a cut leaves an empty reply in JSON, whatever was said: %i deltas', async (after) => {
    expect(await exchange(service, askFor(`fault=cut; after=${after}`))).toBe('');
    await observer.whenSettled(1);
  });

  it('a connection that a fault cuts is a connection error to the SDK, which tries again as often as it may', async () => {
    const client = service.client({ maxRetries: 1 });
    const body = { model: 'gpt-4.1', input: 'Hi' };
    const headers = { 'x-simulate': 'fault=cut' };
    await expect(client.responses.create(body, { headers })).rejects.toThrow('Connection error.');
    expect(await observer.whenSettled(2)).toHaveLength(2);
  });

  it.each([
    ['plain', PLAIN],
    ['compressed', DEFLATE],
  ])('a cut breaks a %s socket after the frames of the deltas', async (_, options) => {
    for (const after of [0, 1, 3, 30]) {
      await using client = await SocketClient.open(service, options);
      client.create(askFor(`fault=cut; after=${after}`));
      expect(await client.closed).toEqual(BROKEN);
      expect(client.unread.map(({ type }) => type)).toEqual(after === 0 ? [] : [...OPENING, ...deltas(after)]);
    }
  });

  it.each([
    ['plain', PLAIN],
    ['compressed', DEFLATE],
  ])('a cut breaks a %s socket only when a large frame has been sent', async (_, options) => {
    await using client = await SocketClient.open(service, options);
    client.create(askFor('fault=cut; after=3', { instructions: LONG_INSTRUCTIONS }));
    expect(await client.closed).toEqual(BROKEN);
    expect(client.unread.map(({ type }) => type)).toEqual([...OPENING, ...deltas(3)]);
    expect(client.unread[0]).toMatchObject({ response: { instructions: LONG_INSTRUCTIONS } });
  });

  it('a cut breaks a stream only when a large event has been sent', async () => {
    const { events } = await streamUntilBroken(
      service,
      askFor('fault=cut; after=3', { instructions: LONG_INSTRUCTIONS }),
    );
    expect(events.map(({ type }) => type)).toEqual([...OPENING, ...deltas(3)]);
    expect(events[0]).toMatchObject({ response: { instructions: LONG_INSTRUCTIONS } });
  });

  it('a cut takes all lanes of the socket with it', async () => {
    await using client = await SocketClient.open(service);
    client.create({ ...askFor('fault=stall; after=2'), stream_id: 'stalled' });
    while ((await client.nextOf('stalled')).type !== 'response.output_text.delta');
    client.create({ ...askFor('fault=cut; after=3'), stream_id: 'cut' });
    expect(await client.closed).toEqual(BROKEN);
    const frames = client.unread.filter(({ stream_id }) => stream_id === 'cut').map(({ type }) => type);
    expect(frames).toEqual([...OPENING, ...deltas(3)]);
    expect(await observer.whenSettled(2)).toHaveLength(2);
  });

  it('a model is not asked for the turn that waits behind the cut one', async () => {
    await using client = await SocketClient.open(service);
    client.create({ ...askFor('fault=cut; after=3'), stream_id: 'cut' });
    client.create({ ...askFor('fault=stall'), stream_id: 'cut' });
    expect(await client.closed).toEqual(BROKEN);
    await tracker.whenSockets(0);
    expect(observer.records).toHaveLength(1);
  });

  it('a turn that a fault cuts is stored nowhere, also as something to go on from', async () => {
    await using client = await SocketClient.open(service);
    client.create(askFor('fault=cut; after=1', { store: true }));
    await client.closed;
    const { id } = client.unread[0]?.['response'] as { readonly id: string };
    const next = await postJson(`${service.baseURL}/responses`, askFor('', { previous_response_id: id }));
    expect(next).toMatchObject({ status: 400, body: { error: { code: 'previous_response_not_found' } } });
    observer.records.pop();
  });

  it('a cut leaves what the cut turn went on from as it was', async () => {
    const { response } = await JSON_TRANSPORT.run(service, askFor('', { input: 'One.' }));
    observer.records.length = 0;
    const body = askFor('fault=cut; after=2', { input: 'Two.', previous_response_id: response.id });
    await streamUntilBroken(service, body);
    const again = { ...body, client_metadata: {} };
    expect(await postJson(`${service.baseURL}/responses`, again)).toMatchObject({ status: 200 });
    observer.records.pop();
  });
});

describe('a connection that a rate cuts', () => {
  it('a cut by a rate breaks after one to ten deltas, on every transport', async () => {
    await using service = await startService({ environment: { SIMULATOR_FAULTS: 'cut=1' } });
    const counts = new Set<number>();
    for (let turn = 0; turn < 12; turn += 1) {
      const body = askFor('', { input: `Tell me story ${turn}.` });
      expect(await exchange(service, body)).toBe('');
      await using client = await SocketClient.open(service);
      client.create(body);
      expect(await client.closed).toEqual(BROKEN);
      const { events } = await streamUntilBroken(service, body);
      for (const frames of [client.unread, events]) counts.add(frames.length - OPENING.length);
    }
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...counts)).toBeLessThanOrEqual(10);
    expect(counts.size).toBeGreaterThan(3);
  });
});

interface Broken {
  readonly events: readonly WireEvent[];
  readonly error: unknown;
}

async function streamUntilBroken(service: Service, body: object): Promise<Broken> {
  const answer = await openStream(`${service.baseURL}/responses`, body);
  if (!answer.streams) throw new Error(`no stream but HTTP ${answer.status}`);
  return readUntilBroken(answer.events);
}

async function readUntilBroken(stream: AsyncIterable<WireEvent>): Promise<Broken> {
  const events: WireEvent[] = [];
  try {
    for await (const event of stream) events.push(event);
  } catch (error) {
    return { events, error };
  }
  throw new Error('the stream came to its end');
}

/** All bytes that answer a request until its connection breaks. */
async function exchange(service: Service, body: object): Promise<string> {
  const socket = await openSocket(service.port);
  const received = receiveAll(socket);
  const json = JSON.stringify(body);
  const length = `content-length: ${Buffer.byteLength(json)}`;
  socket.write(`POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${length}\r\n\r\n`);
  socket.write(json);
  await once(socket, 'close');
  return received;
}
