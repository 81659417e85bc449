import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';

import { afterEach, describe, expect, it } from '@jest/globals';

import { createResponse, expectWhole, follow } from '../support/background/background-client.js';
import { openModels } from '../support/background/held-models.js';
import { createTestDatabase } from '../support/postgres/test-database.js';
import { endProcesses, type ServiceProcess, startProcess } from '../support/process-service.js';

const NEVER = '600000';
const READERS = 20;
const IDLERS = 5;
/** The stream is five times as long, which is more than the kernel takes for a client that does not read. */
const PIECES = 96;
const PIECE = 'x'.repeat(16 * 1024);
/** For clients of whom none reads. */
const STALL_MS = 500;
const MEGABYTE = 1024 * 1024;
/** By how much a process may grow meanwhile. */
const MOST_MEMORY = 300 * MEGABYTE;

afterEach(endProcesses);

/** Asks for the stream and never reads a byte of it. */
function askAndIdle({ port }: ServiceProcess, id: string): Socket {
  const socket = connect(port, '127.0.0.1').pause();
  socket.on('error', () => undefined);
  socket.write(`GET /v1/responses/${id}?stream=true HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  return socket;
}

/** Resolves when the service has cut off a client, which notices it only when it says something. */
async function untilCutOff(socket: Socket): Promise<void> {
  while (!socket.destroyed)
    await new Promise<unknown>((resolve) => socket.write('\r\n', () => setTimeout(resolve, 50)));
}

/** Reads the stream to its end. */
class Reader {
  private readonly hash = createHash('sha256');
  private begun = Promise.withResolvers<undefined>();
  private ended = Promise.withResolvers<string>();

  constructor({ port }: ServiceProcess, id: string) {
    get({ port, path: `/v1/responses/${id}?stream=true`, agent: false }, (answer) => {
      answer.on('data', (chunk: Buffer) => {
        this.hash.update(chunk);
        if (chunk.includes('begins')) this.begun.resolve(undefined);
      });
      answer.once('end', () => this.ended.resolve(this.hash.digest('hex')));
    });
  }

  /** Resolves when the model has begun. */
  get beginning(): Promise<undefined> {
    return this.begun.promise;
  }

  /** Resolves with the hash of all bytes. */
  get whole(): Promise<string> {
    return this.ended.promise;
  }
}

/** Memory of a process, bytes. */
function memoryOf({ pid }: ServiceProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** Looks at the memory of processes again and again. */
class MemoryWatch implements Disposable {
  private readonly before: readonly number[];
  private readonly most: number[];
  private readonly timer: NodeJS.Timeout;

  constructor(replicas: readonly ServiceProcess[]) {
    this.before = replicas.map(memoryOf);
    this.most = [...this.before];
    this.timer = setInterval(() => {
      for (const [index, replica] of replicas.entries()) {
        this.most[index] = Math.max(this.most[index] ?? 0, memoryOf(replica));
      }
    }, 20);
  }

  /** By how much each has grown at most, bytes. */
  get growth(): readonly number[] {
    return this.most.map((bytes, index) => bytes - (this.before[index] ?? 0));
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
  }
}

describe('fifty readers of one stream on two replicas', () => {
  it('fifty readers of a stream do not delay each other or the run, ten of which never read and are cut off', async () => {
    await using database = await createTestDatabase();
    await using models = await openModels('long');
    const { long } = models.upstreams;
    const environment = {
      STATE: 'postgres',
      DATABASE_URL: database.url,
      PROVIDERS_FILE: models.providersFile,
      LOG_LEVEL: 'error',
      SSE_KEEPALIVE_MS: NEVER,
      CLIENT_STALL_TIMEOUT_MS: NEVER,
      MAX_OUTPUT_CHARACTERS: String(100 * MEGABYTE),
      MAX_PROVIDER_ANSWER_BYTES: String(200 * MEGABYTE),
    };
    const [one, two, impatient] = await Promise.all([
      startProcess(environment),
      startProcess(environment),
      startProcess({ ...environment, CLIENT_STALL_TIMEOUT_MS: String(STALL_MS) }),
    ]);
    const replicas = [one, two];
    long.hold().answer({ text: ['begins', ...Array.from({ length: PIECES }, () => PIECE)] });
    long.release(2);
    const { id } = await createResponse(one, { model: 'long' });
    const idlers = replicas.flatMap((replica) => Array.from({ length: IDLERS }, () => askAndIdle(replica, id)));
    const readers = replicas.flatMap((replica) => Array.from({ length: READERS }, () => new Reader(replica, id)));
    await Promise.all(readers.map(({ beginning }) => beginning));
    using memory = new MemoryWatch(replicas);
    long.release();
    const hashes = await Promise.all(readers.map(({ whole }) => whole));
    // Nobody has waited for those who do not read: all of them are still there.
    expect(idlers.filter(({ destroyed }) => destroyed)).toEqual([]);
    const whole = await (await follow(one, id)).whole;
    expect(new Set(hashes)).toEqual(new Set([createHash('sha256').update(whole).digest('hex')]));
    expect(await expectWhole(two, id, whole)).toMatchObject({ status: 'completed' });
    for (const idler of idlers) idler.destroy();
    // A machine that stands still makes a client that reads look like one that does not: here nobody reads.
    await Promise.all(Array.from({ length: 2 * IDLERS }, () => untilCutOff(askAndIdle(impatient, id))));
    for (const bytes of memory.growth) expect(bytes).toBeLessThan(MOST_MEMORY);
  });
});
