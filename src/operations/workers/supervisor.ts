import { Logger } from '@nestjs/common';

import {
  describeShutdown,
  type Environment,
  INTERRUPTED,
  longestShutdownMs,
  RELOADED_FILES,
} from '../../config/index.js';
import { writeLine } from '../../logging/index.js';
import { Interrupts, LONGEST_DELAY_MS, SystemClock } from '../../time/index.js';
import { forkWorker } from './fork-worker.js';
import { Relay } from './relay.js';
import { WorkerStartError } from './worker-process.js';
import { WorkerSlot, type WorkerSlotOptions } from './worker-slot.js';

/** How much longer than its own limit a worker may take to exit, ms: it may still be able to say why. */
const KILL_AFTER_MS = 1000;

/**
 * Runs WORKERS copies of this program until they are stopped, and passes signals on to them. Calls `announce` with
 * their URL when all listen; writes the reason to stderr when they cannot. A second Ctrl+C kills them. Resolves with the exit code.
 */
export async function superviseWorkers(
  environment: Environment,
  announce: (url: string) => Promise<void>,
): Promise<number> {
  const { WORKERS } = environment;
  const stopLimitMs = longestShutdownMs(environment) + KILL_AFTER_MS;
  const clock = new SystemClock();
  const relay = new Relay();
  const supervisor = new Supervisor(WORKERS, { fork: (number) => forkWorker(number, relay), clock, stopLimitMs });
  const logger = new Logger('Shutdown');
  const cutOff = new AbortController();
  const interrupts = new Interrupts(clock, {
    first: () => {
      logger.log(describeShutdown(environment));
      supervisor.stop('SIGINT');
    },
    again: () => {
      logger.warn('stopping now: running turns are cut off');
      cutOff.abort();
      supervisor.kill();
    },
  });
  process.on('SIGTERM', (signal) => supervisor.stop(signal));
  process.on('SIGINT', () => interrupts.arrived());
  const readsFiles = RELOADED_FILES.some((variable) => environment[variable] !== '');
  // Without a file, SIGHUP ends the process as usual.
  if (readsFiles) process.on('SIGHUP', () => supervisor.reload());
  // Keeps this process alive while all workers have exited and will be restarted.
  const alive = setInterval(() => undefined, LONGEST_DELAY_MS);
  try {
    const url = await supervisor.start();
    if (url !== undefined) await announce(url);
  } catch (error) {
    if (!(error instanceof WorkerStartError)) throw error;
    writeLine('error', error.message);
  }
  const isOrderly = await supervisor.ended();
  clearInterval(alive);
  if (cutOff.signal.aborted) return INTERRUPTED;
  return isOrderly ? 0 : 1;
}

/** Starts, restarts and stops the workers of a service. */
export class Supervisor {
  private readonly slots: WorkerSlot[] = [];
  private isStopping = false;

  constructor(
    private readonly count: number,
    private readonly options: WorkerSlotOptions,
  ) {}

  /**
   * Starts one worker, and the others once it listens: so one worker migrates the schema and binds the port. Resolves
   * with the URL when all listen, or with undefined when they were stopped before. Workers that die meanwhile are
   * replaced. Throws WorkerStartError when one says why it cannot listen, and stops the others.
   */
  async start(): Promise<string | undefined> {
    try {
      const url = await this.startOne();
      await Promise.all(Array.from({ length: this.count - 1 }, () => this.startOne()));
      return url;
    } catch (error) {
      if (this.isStopping) return undefined;
      this.stop('SIGTERM');
      throw error;
    }
  }

  /** Resolves when all workers have exited, with whether all shut down gracefully. */
  async ended(): Promise<boolean> {
    const ends = await Promise.all(this.slots.map(({ ended }) => ended));
    return ends.every((isOrderly) => isOrderly);
  }

  /** Stops all workers with a signal; repeated calls do nothing. Workers are no longer restarted. */
  stop(signal: NodeJS.Signals): void {
    if (this.isStopping) return;
    this.isStopping = true;
    for (const slot of this.slots) slot.stop(signal);
  }

  /** Ends all workers at once, after `stop`. */
  kill(): void {
    for (const slot of this.slots) slot.kill();
  }

  /** Makes all workers read their files again. */
  reload(): void {
    for (const slot of this.slots) slot.reload();
  }

  private async startOne(): Promise<string> {
    if (this.isStopping) throw new WorkerStartError('the workers are stopping');
    const slot = new WorkerSlot(this.slots.length, this.options);
    this.slots.push(slot);
    return slot.listening;
  }
}
