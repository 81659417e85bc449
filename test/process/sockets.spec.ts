// Slow: starts the built service as processes.

import { connect, type Socket } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';

import { handshakeOf, RawSocketClient } from '../support/connection-raw.js';
import { endProcesses, type Exit, type ServiceProcess, startProcess } from '../support/process-service.js';
import { SocketClient } from '../support/socket-client.js';

/** An answer of a second or so. */
const SLOW = { SIMULATOR_LATENCY: '0/30' };
/** The model says one word, and then nothing for the rest of the test. */
const STUCK = { SIMULATOR_LATENCY: '0/60000' };
/** Longer than any test may take: what waits for it never ends by itself. */
const FOR_EVER = '600000';
const RESTARTING = { code: 1012, reason: 'service_restarting' };

/** The frame for a turn that a shutdown keeps from beginning. */
const REFUSAL = {
  type: 'error',
  status: 503,
  error: { type: 'service_unavailable_error', code: 'service_unavailable', headers: { 'retry-after': '1' } },
};

const TURN = { model: 'gpt-4.1', input: 'Tell me something.' };

afterEach(endProcesses);

/** Begins a turn; returns the id of its response. */
async function begin(client: SocketClient, body: { readonly stream_id?: string } = {}): Promise<unknown> {
  client.create({ ...TURN, ...body });
  const created = await client.nextOf(body.stream_id);
  expect(created).toMatchObject({ type: 'response.created' });
  expect(await client.nextOf(body.stream_id)).toMatchObject({ type: 'response.in_progress' });
  return (created['response'] as { readonly id: string }).id;
}

/** The terminal event of a turn that has begun. */
async function endOf(client: SocketClient, streamId?: string): Promise<unknown> {
  for (;;) {
    const event = await client.nextOf(streamId);
    if (/^response\.(?:completed|failed|incomplete)$|^error$/.test(event.type)) return event;
  }
}

async function expectOrderlyEnd({ exited }: ServiceProcess): Promise<Exit> {
  const exit = await exited;
  expect({ code: exit.code, signal: exit.signal }).toEqual({ code: 0, signal: null });
  expect(exit.stderr).not.toMatch(/\n\s+at /);
  return exit;
}

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('a signal lets the turns of a socket finish, closes it, and ends', async () => {
    const service = await startProcess({ ...SLOW, DRAIN_TIMEOUT_MS: FOR_EVER });
    await using client = await SocketClient.open(service);
    await begin(client);
    await begin(client, { stream_id: 'b' });
    service.kill(signal);
    for (const streamId of [undefined, 'b']) {
      expect(await endOf(client, streamId)).toMatchObject({
        type: 'response.completed',
        response: { status: 'completed' },
      });
    }
    expect(await client.closed).toEqual(RESTARTING);
    expect(client.unread).toEqual([]);
    await expectOrderlyEnd(service);
  });

  it('a signal closes idle sockets at once, whatever still runs on others', async () => {
    const service = await startProcess({ ...STUCK, DRAIN_TIMEOUT_MS: FOR_EVER });
    await using busy = await SocketClient.open(service);
    await begin(busy);
    const idle = await Promise.all(Array.from({ length: 10 }, () => SocketClient.open(service)));
    service.kill(signal);
    for (const client of idle) expect(await client.closed).toEqual(RESTARTING);
    expect(busy.socket.readyState).toBe(busy.socket.OPEN);
    // Nothing is left to wait for as soon as this one is gone.
    busy.socket.terminate();
    await expectOrderlyEnd(service);
  });
});

describe('a shutdown while a turn runs on a socket', () => {
  it('a shutdown refuses new turns on a socket, those that wait, and new sockets', async () => {
    const service = await startProcess({ ...STUCK, DRAIN_TIMEOUT_MS: FOR_EVER });
    await using idle = await SocketClient.open(service);
    await using client = await SocketClient.open(service);
    const running = await begin(client, { stream_id: 'a' });
    client.create({ ...TURN, stream_id: 'a' });
    service.kill('SIGTERM');
    expect(await idle.closed).toEqual(RESTARTING);
    client.create({ ...TURN, stream_id: 'b' });
    client.create(TURN);
    for (const streamId of ['b', undefined]) expect(await client.nextOf(streamId)).toMatchObject(REFUSAL);
    for (const path of ['/v1/responses', '/openai/v1/responses']) {
      const { status, headers, body } = await SocketClient.refused(service, {}, path);
      expect({ status, body }).toMatchObject({
        status: 503,
        body: { error: { type: 'service_unavailable_error', code: 'service_unavailable', param: null } },
      });
      expect(headers).toMatchObject({ 'retry-after': '1', 'x-request-id': expect.stringMatching(/^req_/) });
    }
    // What waits is refused in its place.
    client.send({ type: 'response.interrupt', response_id: running, mode: 'discard_partial_items' });
    expect(await endOf(client, 'a')).toMatchObject({ type: 'response.incomplete' });
    expect(await client.nextOf('a')).toMatchObject(REFUSAL);
    expect(await client.closed).toEqual(RESTARTING);
    await expectOrderlyEnd(service);
  });

  it('a shutdown fails the turn when it outlives DRAIN_TIMEOUT_MS, closes, and ends', async () => {
    const service = await startProcess({ ...STUCK, DRAIN_TIMEOUT_MS: '300' });
    await using client = await SocketClient.open(service);
    await begin(client);
    service.kill('SIGTERM');
    expect(await endOf(client)).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'server_error', message: expect.stringContaining('shutting down') },
      },
    });
    expect(await client.closed).toEqual(RESTARTING);
    expect(client.unread).toEqual([]);
    await expectOrderlyEnd(service);
  });

  it('a shutdown drains sockets and HTTP side by side', async () => {
    const service = await startProcess({ ...SLOW, DRAIN_TIMEOUT_MS: FOR_EVER });
    await using client = await SocketClient.open(service);
    await begin(client);
    const stream = await service.client.stream({});
    await stream.until('response.created');
    service.kill('SIGTERM');
    expect(await endOf(client)).toMatchObject({ type: 'response.completed' });
    expect(await stream.whole).toMatch(/event: response\.completed\ndata: .*\n\ndata: \[DONE\]\n\n$/);
    expect(await client.closed).toEqual(RESTARTING);
    await expectOrderlyEnd(service);
  });
});

describe('a client that does nothing for the end', () => {
  it('a client does not hold the process when it never answers the close, or opens sockets again as soon as they close', async () => {
    const service = await startProcess();
    using silent = await RawSocketClient.open(service);
    const sockets: Socket[] = [];
    const reopen = (): void => {
      const socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
      sockets.push(socket);
      socket.once('connect', () => {
        // Until the port is gone.
        socket.resume().once('close', reopen);
        socket.write(handshakeOf());
      });
    };
    for (let count = 0; count < 16; count += 1) reopen();
    await using client = await SocketClient.open(service);
    service.kill('SIGTERM');
    expect(await silent.nextClose()).toEqual(RESTARTING);
    await silent.closed;
    expect(await client.closed).toEqual(RESTARTING);
    await expectOrderlyEnd(service);
    for (const socket of sockets) socket.destroy();
  });

  it('a client does not hold the process when it reads nothing, or keeps talking', async () => {
    const service = await startProcess({ ...STUCK, DRAIN_TIMEOUT_MS: '300' });
    using deaf = await RawSocketClient.open(service);
    deaf.socket.pause();
    deaf.send('text', { type: 'response.create', ...TURN });
    await using client = await SocketClient.open(service);
    await begin(client);
    let talks = true;
    const talk = (): void => {
      if (!talks) return;
      client.socket.send('{"type":"response.create"}', () => setImmediate(talk));
    };
    client.socket.once('close', () => (talks = false));
    talk();
    service.kill('SIGTERM');
    expect(await client.closed).toEqual(RESTARTING);
    await expectOrderlyEnd(service);
  });
});
