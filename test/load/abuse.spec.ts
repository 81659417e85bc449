// Slow: presses: many connections, or large bodies.

import { once } from 'node:events';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { WebSocket } from 'ws';

import { frameOf, handshakeOf, RawSocketClient } from '../support/connection-raw.js';
import { inParallel } from '../support/in-parallel.js';
import { endProcesses, type ServiceProcess, startProcess } from '../support/process-service.js';
import type { RawAnswer } from '../support/raw-client.js';
import { exchange, openSocket, receiveAll, splitAnswers } from '../support/raw-socket.js';
import { SocketClient } from '../support/socket-client.js';

/** What a process needs to be inspected. */
const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' } as const;

interface Reply {
  readonly id?: number;
  readonly result?: Readonly<Record<string, unknown>>;
}

/** Looks into a process from outside, over the protocol of its debugger. */
class Inspector implements AsyncDisposable {
  private readonly waiting = new Map<number, (reply: Reply) => void>();
  private calls = 0;

  private constructor(private readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      const reply = JSON.parse(data.toString()) as Reply;
      if (reply.id !== undefined) this.waiting.get(reply.id)?.(reply);
    });
  }

  /** Of a process that was started with INSPECTED. */
  static async of({ written, output }: ServiceProcess): Promise<Inspector> {
    const address = /Debugger listening on (ws:\S+)/;
    await written(address);
    const socket = new WebSocket(address.exec(output())?.[1] ?? '');
    await once(socket, 'open');
    return new Inspector(socket);
  }

  /** Bytes of the heap that are in use after garbage was collected. */
  async heapBytes(): Promise<number> {
    // What finalizers release is garbage of the next collection.
    for (let round = 0; round < 3; round += 1) await this.call('HeapProfiler.collectGarbage');
    return Number((await this.call('Runtime.getHeapUsage'))['usedSize']);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.socket.terminate();
    return Promise.resolve();
  }

  private async call(method: string): Promise<Readonly<Record<string, unknown>>> {
    const id = (this.calls += 1);
    const answered = new Promise<Reply>((resolve) => this.waiting.set(id, resolve));
    this.socket.send(JSON.stringify({ id, method }));
    const { result } = await answered;
    this.waiting.delete(id);
    return result ?? {};
  }
}

const MEGABYTE = 1024 * 1024;
const KEY = 'the-right-key';
const AUTHORIZED = { authorization: `Bearer ${KEY}` };
const TURN = JSON.stringify({ model: 'gpt-5', input: 'Hi', store: false });

/** As far as this machine lets one process have files; some are for the service itself. */
const SOCKETS = Math.min(1000, openFiles() - 500);
/** What may be left of a thousand connections: three kilobytes for each, with what the compiler has added. */
const MOST_LEFT = 3 * MEGABYTE;

/** Fifty megabytes in fifty kilobytes. */
const BOMB = gzipSync(Buffer.alloc(50 * MEGABYTE, ' '));

const HEAD = `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer ${KEY}\r\n`;

/** One process for all: what one attack has left would be found by the next. */
describe('a service under attack', () => {
  let service: ServiceProcess;
  let inspector: Inspector;
  let heapBefore = 0;

  beforeAll(async () => {
    service = await startProcess({
      ...INSPECTED,
      API_KEYS: `tenant:${KEY}`,
      REQUEST_TIMEOUT_MS: '2000',
      WS_MAX_CONNECTIONS: String(SOCKETS),
      // Nobody here answers pings.
      WS_PING_INTERVAL_MS: '3600000',
      BODY_LIMIT_BYTES: String(MEGABYTE),
      WS_MAX_MESSAGE_BYTES: String(MEGABYTE),
      AUTH_FAILURES_PER_MINUTE: '100',
      TRUSTED_PROXIES: '127.0.0.1',
    });
    inspector = await Inspector.of(service);
    // What is loaded and compiled when it is needed first is no leak.
    await openAll(SOCKETS).then(closeAll);
    await starve(100);
    await explode();
    await guess(250, () => '203.0.113.1');
    await guess(250, (index) => `198.51.100.${index}`);
    await untilQuiet();
    heapBefore = await inspector.heapBytes();
  });

  afterAll(async () => {
    await inspector[Symbol.asyncDispose]();
    await endProcesses();
  });

  it(`a service under attack holds ${SOCKETS} sockets, refuses the next one, and lets go of all`, async () => {
    expect(SOCKETS).toBeGreaterThanOrEqual(1000);
    const sockets = await openAll(SOCKETS);
    await using oneMore = await SocketClient.open(service, { headers: AUTHORIZED });
    expect(await oneMore.next()).toMatchObject({ error: { code: 'websocket_connection_limit_reached' } });
    await oneMore.closed;
    await expectService();
    await turnOn(sockets[0] as Socket);
    await turnOn(sockets.at(-1) as Socket);
    await closeAll(sockets);
    await expectRecovery();
  });

  it('a service under attack gives up requests that never end, and answers others meanwhile', async () => {
    await starve(400);
    await expectRecovery();
  });

  it('a service under attack refuses what would explode, and keeps nothing of it', async () => {
    for (let round = 0; round < 4; round += 1) await explode();
    await expectRecovery();
  });

  it('a service under attack holds off an address that guesses keys, and keeps no guess', async () => {
    const begun = performance.now();
    const { 401: refused = 0, ...others } = await guess(500, () => '203.0.113.2');
    const minutes = Math.ceil((performance.now() - begun) / 60_000);
    // One request and one upgrade each, of which a hundred are looked at in every minute.
    expect(others).toEqual({ 429: 1000 - refused });
    expect(refused).toBeGreaterThanOrEqual(100);
    expect(refused).toBeLessThanOrEqual(100 * minutes);
    await expectRecovery();
  });

  it('a service under attack keeps no more than it must of guesses from many addresses', async () => {
    expect(await guess(500, (index) => `10.1.${index >> 8}.${index % 256}`)).toEqual({ 401: 1000 });
    await expectRecovery();
  });

  /** Opens sockets, a hundred at a time. */
  async function openAll(count: number): Promise<readonly Socket[]> {
    const sockets: Socket[] = [];
    await inParallel([...Array(count).keys()], 100, async () => {
      let client: RawSocketClient | undefined;
      while (client === undefined) {
        client = await RawSocketClient.open(service, { headers: AUTHORIZED }).catch((error: unknown) => {
          if (!/ 408 /.test(String(error))) throw error;
          return undefined;
        });
      }
      sockets.push(client.socket);
    });
    return sockets;
  }

  /** Half of them go without a word. */
  async function closeAll(sockets: readonly Socket[]): Promise<void> {
    await Promise.all(
      sockets.map((socket, index) => {
        const closed = new Promise((resolve) => socket.once('close', resolve));
        if (index % 2 === 0) socket.destroy();
        else socket.end(frameOf('close', Buffer.from([3, 232])));
        return closed;
      }),
    );
  }

  async function turnOn(socket: Socket): Promise<void> {
    const done = Promise.withResolvers<undefined>();
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      if (received.includes('response.completed')) done.resolve(undefined);
    });
    socket.write(frameOf('text', `{"type":"response.create",${TURN.slice(1)}`));
    await done.promise;
  }

  /** Requests that stop in the middle, in the head or in the body; good ones are answered before they are given up. */
  async function starve(count: number): Promise<void> {
    const sockets: Socket[] = [];
    await inParallel([...Array(count).keys()], 100, async (index) => {
      const socket = await openSocket(service.port);
      socket.write(index % 2 === 0 ? HEAD : `${HEAD}content-length: 100000\r\n\r\n{"model":`);
      sockets.push(socket);
    });
    const received = sockets.map(receiveAll);
    await expectService();
    for (const text of await Promise.all(received)) expect(splitAnswers(text)).toMatchObject([{ status: 408 }]);
  }

  /** What is small on the wire, or short to write, and large or deep when it is read. */
  async function explode(): Promise<void> {
    const bodies: readonly (readonly [status: number, body: string | Buffer, headers?: Record<string, string>])[] = [
      [413, BOMB, { 'content-encoding': 'gzip' }],
      [413, Buffer.alloc(2 * MEGABYTE, ' ')],
      [400, `{"model":"gpt-5","input":${'['.repeat(200_000)}`],
      [400, `{"model":"gpt-5","input":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
      [400, `{${Array.from({ length: 50_000 }, (_, index) => `"m${index}":1`).join(',')}}`],
    ];
    for (const [status, body, headers] of bodies) {
      const answer = await untilRead(() => service.client.post(body, { ...AUTHORIZED, ...headers }));
      expect(answer.status).toBe(status);
    }
    for (const payload of [Buffer.alloc(2 * MEGABYTE, ' '), '['.repeat(200_000)]) {
      using client = await RawSocketClient.open(service, { headers: AUTHORIZED });
      client.socket.write(frameOf('text', payload));
      client.socket.end(frameOf('close', Buffer.from([3, 232])));
      await client.closed;
    }
    await expectService();
  }

  /** Asks with keys that are wrong, each another one, for a request and for an upgrade; gives how often each status was answered. */
  async function guess(count: number, addressOf: (index: number) => string): Promise<Readonly<Record<string, number>>> {
    const statuses: Record<string, number> = {};
    await inParallel([...Array(count).keys()], 50, async (index) => {
      const headers = { authorization: `Bearer guess-${index}`, 'x-forwarded-for': addressOf(index) };
      const count = (status: number): number => (statuses[status] = (statuses[status] ?? 0) + 1);
      count((await untilRead(() => service.client.send({ path: '/v1/models', headers }))).status);
      count((await untilRead(() => upgrade(headers))).status);
    });
    return statuses;
  }

  /** The answer to an upgrade that is refused. */
  async function upgrade(headers: Readonly<Record<string, string>>): Promise<RawAnswer> {
    const [answer, ...others] = await exchange(service.port, handshakeOf({ headers }));
    if (answer === undefined || others.length > 0) throw new Error('an upgrade must have one answer');
    return answer;
  }

  async function expectService(): Promise<void> {
    const { status } = await untilRead(() => service.client.post(TURN, AUTHORIZED));
    expect(status).toBe(200);
  }

  async function untilQuiet(): Promise<void> {
    for (;;) {
      const { text } = await service.client.send({ path: '/v1/connections', headers: AUTHORIZED });
      if ((JSON.parse(text) as { readonly data: readonly unknown[] }).data.length === 0) return;
    }
  }

  async function expectRecovery(): Promise<void> {
    await expectService();
    await untilQuiet();
    expect(((await inspector.heapBytes()) - heapBefore) / MEGABYTE).toBeLessThan(MOST_LEFT / MEGABYTE);
  }
});

/**
 * The answer to a request for what it is, and not for the time that it took to arrive: a service that stands still for REQUEST_TIMEOUT_MS
 * cannot tell a whole request from one that never ends.
 */
async function untilRead(ask: () => Promise<RawAnswer>): Promise<RawAnswer> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 408) return answer;
  }
}

/** Most files that a process may have open. */
function openFiles(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | string } };
  };
  const { soft = 1024 } = userLimits?.open_files ?? {};
  return soft === 'unlimited' ? Infinity : Number(soft);
}
