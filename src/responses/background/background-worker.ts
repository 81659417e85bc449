import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { OutageLog } from '../../logging/index.js';
import { ApiError, type ResponseErrorBody, type ResponseObject } from '../../protocol/index.js';
import { Seals } from '../../context/seals/index.js';
import {
  BackgroundRuns,
  ContextTooLargeError,
  DamagedRecordError,
  DeletionNotices,
  EventLog,
  inOneLine,
  isOutOfPlace,
  type Job,
  JobHandedBackError,
  JobQueue,
  logRecord,
  type QueueWorker,
  reasonOfDamage,
  type Run,
  RunLostError,
  RunNotices,
  type StartedRun,
  tellDamage,
} from '../../state/index.js';
import { Clock, type Timer } from '../../time/index.js';
import { isObject } from '../../validation/index.js';
import { ResponsesService } from '../responses.service.js';
import type { ActiveTurn } from '../turn/active-turn.js';
import { toErrorBody } from '../turn/failures.js';
import { type StopReason, TurnStoppedError } from '../turn/stop-reason.js';
import { BackgroundEndings } from './background-endings.js';
import { type BackgroundTurn, readTurn, type TurnJob, withCredentials } from './background-turn.js';
import { RunLog } from './run-log.js';

/** Pauses before a turn that was handed back, or whose process died, runs again, seconds. Each is twice the one before. */
const FIRST_RETRY_SECONDS = 1;
const LONGEST_RETRY_SECONDS = 8;
/** A turn without a limit of its own may run as long as the queue allows, seconds. */
const LONGEST_RUN_SECONDS = 24 * 60 * 60;
/** How often turns are looked for that have waited too long, ms, and how many at once. */
const WAIT_CHECK_MS = 5000;
const WAIT_CHECK_BATCH = 100;

const WAITED_TOO_LONG = {
  code: 'background_wait_exceeded',
  message: 'The response waited too long in the queue. Please create it again.',
};
const TRIED_TOO_OFTEN = {
  code: 'server_error',
  message: 'The servers that ran the response stopped unexpectedly. Please create it again.',
};
const WITHOUT_CREDENTIALS = {
  code: 'server_error',
  message: 'The credentials of its MCP servers cannot be opened any more. Please create the response again.',
};
const DAMAGED = {
  code: 'server_error',
  message: 'What is stored of the response is damaged and cannot be read. Please create it again.',
};
const SHUTTING_DOWN = {
  code: 'server_error',
  message: 'The server is shutting down. Please retry your request.',
};

/** Runs and cancels background turns: takes their jobs from the queue, runs them into their logs, and hands back what it cannot end. */
@Injectable()
export class BackgroundWorker implements OnApplicationBootstrap {
  private readonly logger = new Logger('BackgroundWorker');
  private readonly outages = new OutageLog(this.logger);
  private readonly running = new Map<string, RunSlot>();
  private worker: QueueWorker | null = null;
  private waitCheck: Timer | null = null;

  constructor(
    private readonly responses: ResponsesService,
    private readonly runs: BackgroundRuns,
    private readonly log: EventLog,
    private readonly jobs: JobQueue,
    private readonly endings: BackgroundEndings,
    private readonly runNotices: RunNotices,
    private readonly deletions: DeletionNotices,
    private readonly clock: Clock,
    private readonly environment: Environment,
    private readonly seals: Seals,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { BACKGROUND_MAX_RUNNING: concurrency, BACKGROUND_LEASE: leaseSeconds, MAX_TURN_MS } = this.environment;
    const stop = (ids: readonly string[]): void => {
      for (const id of ids) this.running.get(id)?.stop('cancel');
    };
    this.runNotices.subscribe({ ended: stop });
    this.deletions.subscribe({ deleted: stop, interrupted: () => undefined, resumed: () => undefined });
    this.waitCheck = this.clock.schedule(WAIT_CHECK_MS, () => void this.endOverdue());
    const options = {
      concurrency,
      leaseSeconds,
      maxRunSeconds: MAX_TURN_MS === 0 ? LONGEST_RUN_SECONDS : Math.ceil(MAX_TURN_MS / 1000) + leaseSeconds,
      retryDelaySeconds: FIRST_RETRY_SECONDS,
      longestRetryDelaySeconds: LONGEST_RETRY_SECONDS,
      // Attempts are counted in the store, without those that were handed back.
      maxAttempts: Number.MAX_SAFE_INTEGER,
    };
    this.worker = await this.jobs.work('turns', options, (job) => this.run(job));
  }

  /**
   * Takes no more turns; resolves when those that run have ended or were handed back. Turns that wait stay for other
   * processes or the next start, or fail when no other process can find them.
   */
  async close(): Promise<void> {
    this.waitCheck?.cancel();
    this.waitCheck = null;
    this.worker?.pause();
    if (!this.jobs.isDurable) await this.endQueued(this.clock.now() + 1000, Infinity, SHUTTING_DOWN);
    await this.worker?.stop();
  }

  /**
   * Cancels a response, or returns the one that has ended. When it runs in this process, its model has stopped. Undefined
   * when it is not found, or was never in the background.
   */
  async cancel(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject | undefined> {
    const response = await this.endings.cancel(tenant, responseId, within);
    if (response?.status === 'cancelled') await this.whenStopped(responseId);
    return response;
  }

  /** Resolves when a response does not run in this process, or no longer. */
  async whenStopped(responseId: string): Promise<void> {
    await this.running.get(responseId)?.ended;
  }

  /** Runs one job. A rejection has the job delivered again, here or elsewhere. */
  private async run(job: Job): Promise<void> {
    const { tenant, responseId } = (isObject(job.data) ? job.data : {}) as Partial<TurnJob>;
    if (typeof tenant !== 'string' || typeof responseId !== 'string') {
      // No delivery could read it.
      this.logger.warn(`job ${job.id} of the queue turns is damaged and was ended: it names no response`);
      return;
    }
    const run: Run = { tenant, responseId, attempt: job.attempt };
    const slot = new RunSlot(job.signal);
    this.running.set(responseId, slot);
    try {
      const refusal = await this.start(run, slot);
      if (refusal !== null) {
        await this.endings.fail(tenant, responseId, refusal, { attempt: run.attempt, isTold: refusal === DAMAGED });
      }
    } finally {
      if (this.running.get(responseId) === slot) this.running.delete(responseId);
      slot.end();
    }
  }

  /** Returns why the response is to fail, or null when it needs nothing more. Rejects when the turn is to run again. */
  private async start(run: Run, slot: RunSlot): Promise<ResponseErrorBody | null> {
    try {
      const started = await this.runs.start(run);
      // Undefined when it has ended, or runs elsewhere already.
      return started === undefined ? null : await this.runStarted(run, started, slot);
    } catch (error) {
      if (error instanceof ContextTooLargeError) return toErrorBody(error.toApiError());
      if (error instanceof DamagedRecordError) {
        tellDamage(
          run.tenant,
          error,
          `The background response ${run.responseId} of tenant '${run.tenant}' ends as failed`,
        );
        return DAMAGED;
      }
      throw error;
    }
  }

  private async runStarted(run: Run, started: StartedRun, slot: RunSlot): Promise<ResponseErrorBody | null> {
    const stored = readTurn(started.turn, run.responseId);
    const hasWaitedTooLong = (): boolean => !started.isRestart && this.hasWaitedTooLong(stored);
    if (started.attempts > this.environment.BACKGROUND_MAX_ATTEMPTS) return TRIED_TOO_OFTEN;
    if (hasWaitedTooLong()) return WAITED_TOO_LONG;

    const whole = await withCredentials(stored, this.seals);
    if (whole === undefined) return WITHOUT_CREDENTIALS;

    const { runs, log: events, endings, clock, logger } = this;
    const { isDurable } = this.jobs;
    const log = this.toLog({ runs, log: events, endings, clock, logger, isDurable }, run, started, whole);
    const { turn } = log;
    slot.hold(turn);
    try {
      if ((await this.responses.execute(turn, log)) !== undefined) return null;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // The model has ended, but its output can never be appended to the conversation.
      if (isOutOfPlace(error.cause)) return { code: 'server_error', message: error.message };
      if (!isTemporary(error)) return toErrorBody(error);
      if (hasWaitedTooLong()) return WAITED_TOO_LONG;
      await this.runs.handBack(run);
      throw new JobHandedBackError('the turn was refused for now', { cause: error });
    }
    // The turn was stopped.
    if (turn.stopReason === 'hand_over') {
      await this.runs.handBack(run);
      this.logger.log(`${run.responseId} was handed back: another process goes on, or the next start`);
      throw new JobHandedBackError('the process shuts down');
    }
    if (log.error !== null && !(log.error instanceof RunLostError || log.error instanceof TurnStoppedError)) {
      this.logger.error(`the events of ${run.responseId} could not be stored`, log.error);
      throw log.error;
    }
    if (turn.stopReason === 'cancel' || turn.stopReason === 'lost') return null;
    throw new Error(`the run of ${run.responseId} was stopped: ${turn.stopReason}`);
  }

  /** Throws DamagedRecordError for what an earlier attempt has logged. */
  private toLog(...parts: ConstructorParameters<typeof RunLog>): RunLog {
    try {
      return new RunLog(...parts);
    } catch (error) {
      throw new DamagedRecordError(logRecord(parts[1].responseId), reasonOfDamage(error));
    }
  }

  private hasWaitedTooLong({ begunAt }: BackgroundTurn): boolean {
    return this.clock.now() - begunAt > this.environment.BACKGROUND_MAX_WAIT * 1000;
  }

  /** Ends turns that no process has taken in time. */
  private async endOverdue(): Promise<void> {
    await this.endQueued(
      this.clock.now() - this.environment.BACKGROUND_MAX_WAIT * 1000,
      WAIT_CHECK_BATCH,
      WAITED_TOO_LONG,
    );
    this.waitCheck?.refresh();
  }

  /** Ends turns that wait since before a time, oldest first. Never rejects. */
  private async endQueued(createdBefore: number, most: number, reason: ResponseErrorBody): Promise<void> {
    const warn = (error: unknown): void => this.outages.warn('expired waits were not checked', inOneLine(error));
    try {
      for (const { tenant, responseId } of await this.runs.queuedBefore(createdBefore, most)) {
        await this.endings.fail(tenant, responseId, reason, { onlyQueued: true }).catch(warn);
      }
    } catch (error) {
      warn(error);
    }
  }
}

/** A place of this process for a background turn, from the delivery of its job to its end. */
class RunSlot {
  private turn: ActiveTurn | null = null;
  private reason: StopReason | null = null;
  private readonly over = Promise.withResolvers<undefined>();

  /** `claim` aborts when the job belongs to this process no longer. */
  constructor(claim: AbortSignal) {
    claim.addEventListener('abort', () => this.stop('lost'), { once: true });
  }

  /** Resolves when the turn no longer runs here. */
  get ended(): Promise<void> {
    return this.over.promise;
  }

  /** The turn that runs here; stopped at once if the slot was stopped before. */
  hold(turn: ActiveTurn): void {
    this.turn = turn;
    if (this.reason !== null) turn.stop(this.reason);
  }

  /** Stops the turn, also one that has yet to begin. */
  stop(reason: StopReason): void {
    this.reason ??= reason;
    this.turn?.stop(reason);
  }

  end(): void {
    this.over.resolve(undefined);
  }
}

/** Refusals that may be over soon: quotas, limits, a locked session or conversation, a shutdown. */
function isTemporary({ status, code }: ApiError): boolean {
  return status === 429 || status === 503 || code === 'session_locked' || code === 'conversation_locked';
}
