import { beforeEach, describe, expect, it } from '@jest/globals';

import { FakeClock } from '../../testing/index.js';
import { Supervisor } from './supervisor.js';
import { type WorkerExit, type WorkerProcess, WorkerStartError } from './worker-process.js';

const URL = 'http://127.0.0.1:8080';
const STOP_LIMIT_MS = 41_000;

/** A worker that does what the test says. */
class FakeWorker implements WorkerProcess {
  private readonly start = Promise.withResolvers<string | undefined>();
  private readonly end = Promise.withResolvers<WorkerExit>();
  readonly signals: NodeJS.Signals[] = [];
  readonly listening = this.start.promise;
  readonly exited = this.end.promise;

  constructor(readonly pid: number) {
    this.listening.catch(() => undefined);
  }

  listen(): void {
    this.start.resolve(URL);
  }

  fail(reason: string): void {
    this.start.reject(new WorkerStartError(reason));
    this.exit({ code: 1 });
  }

  exit({ code = null, signal = null }: Partial<WorkerExit>): void {
    this.start.resolve(undefined);
    this.end.resolve({ code, signal });
  }

  kill(signal: NodeJS.Signals): void {
    this.signals.push(signal);
  }
}

/** Lets promises run until none is left to run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

let clock: FakeClock;
let workers: FakeWorker[];

beforeEach(() => {
  clock = new FakeClock();
  workers = [];
});

function supervise(count: number): Supervisor {
  const fork = (): WorkerProcess => {
    const worker = new FakeWorker(workers.length + 1);
    workers.push(worker);
    return worker;
  };
  return new Supervisor(count, { fork, clock, stopLimitMs: STOP_LIMIT_MS });
}

function worker(position: number): FakeWorker {
  const found = workers.at(position);
  if (found === undefined) throw new Error(`there is no worker ${position}`);
  return found;
}

/** Expects another worker in place of the one that has just ended: not before half of the pause, and at its end. */
async function expectReplacement(longest: number): Promise<void> {
  const count = workers.length;
  await settled();
  clock.advance(longest / 2 - 1);
  await settled();
  expect(workers).toHaveLength(count);
  clock.advance(longest / 2 + 1);
  await settled();
  expect(workers).toHaveLength(count + 1);
}

/** Starts them, and all listen. */
async function startAll(supervisor: Supervisor): Promise<string | undefined> {
  const started = supervisor.start();
  for (let position = 0; position < workers.length; position += 1) {
    worker(position).listen();
    await settled();
  }
  return started;
}

describe('a start', () => {
  it('a start lets the first worker go ahead, and is over when all listen', async () => {
    const supervisor = supervise(3);
    let url: string | undefined;
    void supervisor.start().then((value) => (url = value));
    await settled();
    expect(workers).toHaveLength(1);
    worker(0).listen();
    await settled();
    expect(workers).toHaveLength(3);
    worker(2).listen();
    await settled();
    expect(url).toBeUndefined();
    worker(1).listen();
    await settled();
    expect(url).toBe(URL);
  });

  it('a start fails with what the first worker says, and makes no others', async () => {
    const supervisor = supervise(3);
    const started = supervisor.start();
    worker(0).fail('PORT: taken');
    await expect(started).rejects.toThrow('PORT: taken');
    expect(await supervisor.ended()).toBe(false);
    expect(workers).toHaveLength(1);
  });

  it('a start ends the others when a later worker cannot listen', async () => {
    const supervisor = supervise(3);
    const started = supervisor.start();
    worker(0).listen();
    await settled();
    worker(1).fail('no memory');
    await expect(started).rejects.toThrow('no memory');
    expect(workers.map(({ signals }) => signals)).toEqual([['SIGTERM'], ['SIGTERM'], ['SIGTERM']]);
    worker(0).exit({ code: 0 });
    worker(2).exit({ signal: 'SIGTERM' });
    expect(await supervisor.ended()).toBe(false);
    expect(workers).toHaveLength(3);
  });

  it('a start replaces workers that die meanwhile, also the first one', async () => {
    const supervisor = supervise(2);
    const started = supervisor.start();
    worker(0).exit({ signal: 'SIGKILL' });
    await settled();
    clock.advance(100);
    await settled();
    expect(workers).toHaveLength(2);
    worker(1).listen();
    await settled();
    expect(workers).toHaveLength(3);
    worker(2).exit({ code: 134 });
    await settled();
    clock.advance(100);
    await settled();
    worker(3).listen();
    expect(await started).toBe(URL);
  });

  it('a start waits longer each time a worker dies before it listens', async () => {
    void supervise(2).start();
    for (const longest of [100, 200, 400, 800]) {
      worker(-1).exit({ signal: 'SIGKILL' });
      await expectReplacement(longest);
    }
  });

  it('a start fails with what a replacement says', async () => {
    const supervisor = supervise(2);
    const started = supervisor.start();
    worker(0).exit({ signal: 'SIGKILL' });
    await settled();
    clock.advance(100);
    await settled();
    worker(1).fail('PORT: taken');
    await expect(started).rejects.toThrow('PORT: taken');
    expect(await supervisor.ended()).toBe(false);
    expect(workers).toHaveLength(2);
  });

  it('a start is no failure when it is told to end while a dead worker is being replaced', async () => {
    const supervisor = supervise(2);
    const started = supervisor.start();
    worker(0).exit({ signal: 'SIGKILL' });
    await settled();
    supervisor.stop('SIGTERM');
    expect(await started).toBeUndefined();
    expect(await supervisor.ended()).toBe(true);
    expect(workers).toHaveLength(1);
  });

  it('a start is no failure when it is told to end meanwhile', async () => {
    const supervisor = supervise(3);
    const started = supervisor.start();
    supervisor.stop('SIGINT');
    expect(worker(0).signals).toEqual(['SIGINT']);
    worker(0).exit({ signal: 'SIGINT' });
    expect(await started).toBeUndefined();
    expect(await supervisor.ended()).toBe(true);
    expect(workers).toHaveLength(1);
  });
});

describe('a worker that dies', () => {
  /** Kills the last worker. Gives how long it takes until there is another one, ms. */
  const pauseAfterDeath = async (): Promise<number> => {
    const [count, begun] = [workers.length, clock.now()];
    worker(-1).exit({ signal: 'SIGKILL' });
    await settled();
    while (workers.length === count) {
      clock.advance(1);
      if (clock.pending < 2) await settled();
    }
    return clock.now() - begun;
  };

  it('a worker that dies is replaced after a pause that grows while it keeps dying, up to half a minute', async () => {
    await startAll(supervise(2));
    for (const longest of [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]) {
      const pause = await pauseAfterDeath();
      expect(pause).toBeGreaterThanOrEqual(longest / 2);
      expect(pause).toBeLessThanOrEqual(longest);
      worker(-1).listen();
      await settled();
    }
  });

  it('a worker that dies is replaced at once again when it has served for a minute', async () => {
    await startAll(supervise(2));
    for (let deaths = 0; deaths < 5; deaths += 1) {
      await pauseAfterDeath();
      worker(-1).listen();
      await settled();
    }
    clock.advance(60_000);
    expect(await pauseAfterDeath()).toBeLessThanOrEqual(100);
  });

  it('a worker that dies is replaced as long as it takes when its successor cannot listen', async () => {
    await startAll(supervise(2));
    await pauseAfterDeath();
    for (const longest of [200, 400, 800]) {
      worker(-1).fail('DATABASE_URL: no such database');
      await expectReplacement(longest);
    }
  });

  it('a worker that dies is not replaced when the end has come', async () => {
    const supervisor = supervise(2);
    await startAll(supervisor);
    worker(0).exit({ code: 1 });
    await settled();
    supervisor.stop('SIGTERM');
    worker(1).exit({ code: 0 });
    expect(await supervisor.ended()).toBe(true);
    clock.advance(60_000);
    await settled();
    expect(workers).toHaveLength(2);
  });
});

describe('an end', () => {
  it('the signal of an end is passed on once', async () => {
    const supervisor = supervise(2);
    await startAll(supervisor);
    supervisor.stop('SIGINT');
    supervisor.stop('SIGINT');
    supervisor.stop('SIGTERM');
    expect(workers.map(({ signals }) => signals)).toEqual([['SIGINT'], ['SIGINT']]);
  });

  it.each<readonly [exit: Partial<WorkerExit>, isOrderly: boolean]>([
    [{ code: 0 }, true],
    [{ code: 1 }, false],
    [{ signal: 'SIGTERM' }, true],
    [{ signal: 'SIGKILL' }, false],
  ])('an end after %j: %p', async (exit, isOrderly) => {
    const supervisor = supervise(2);
    await startAll(supervisor);
    supervisor.stop('SIGTERM');
    worker(0).exit({ code: 0 });
    worker(1).exit(exit);
    expect(await supervisor.ended()).toBe(isOrderly);
  });
});

describe('a worker that hangs at the end', () => {
  it('a worker that hangs at the end is killed when its time is up, and only that one', async () => {
    const supervisor = supervise(2);
    await startAll(supervisor);
    supervisor.stop('SIGTERM');
    worker(0).exit({ code: 0 });
    await settled();
    clock.advance(STOP_LIMIT_MS - 1);
    expect(workers.map(({ signals }) => signals)).toEqual([['SIGTERM'], ['SIGTERM']]);
    clock.advance(1);
    expect(workers.map(({ signals }) => signals)).toEqual([['SIGTERM'], ['SIGTERM', 'SIGKILL']]);
    worker(1).exit({ signal: 'SIGKILL' });
    expect(await supervisor.ended()).toBe(false);
  });
});

describe('an end that may not wait', () => {
  it('an end that may not wait kills the workers that are left', async () => {
    const supervisor = supervise(2);
    await startAll(supervisor);
    supervisor.stop('SIGINT');
    supervisor.kill();
    expect(workers.map(({ signals }) => signals)).toEqual([
      ['SIGINT', 'SIGKILL'],
      ['SIGINT', 'SIGKILL'],
    ]);
  });
});

describe('SIGHUP', () => {
  it('SIGHUP waits for workers that do not listen yet', async () => {
    const supervisor = supervise(2);
    const started = supervisor.start();
    worker(0).listen();
    await settled();
    supervisor.reload();
    expect(workers.map(({ signals }) => signals)).toEqual([['SIGHUP'], []]);
    worker(1).listen();
    await started;
    expect(workers.map(({ signals }) => signals)).toEqual([['SIGHUP'], ['SIGHUP']]);
  });

  it('SIGHUP does not reach a worker that comes after it', async () => {
    const supervisor = supervise(2);
    await startAll(supervisor);
    worker(1).exit({ code: 1 });
    await settled();
    supervisor.reload();
    clock.advance(100);
    await settled();
    worker(2).listen();
    await settled();
    expect(worker(2).signals).toEqual([]);
  });
});
