import type { StopCause } from '../../connections/index.js';
import { ApiError } from '../../protocol/index.js';
import type { QueueBudget, QueueShare } from './queue-budget.js';

/** Most turns that run at once on one connection, on all lanes (protocol §6.5). */
const MAX_IN_FLIGHT = 16;
/** Most lane names that one connection may use (protocol §6.5). */
const MAX_STREAM_IDS = 32;

/** A turn in a lane. */
export interface LaneTask {
  /** The lane's name; undefined is the default lane. */
  readonly streamId: string | undefined;
  /** The size of the turn while it is queued, in bytes. */
  readonly bytes: number;
  /** Called when it is queued: releases all memory beyond `bytes`. */
  shelve(): void;
  /**
   * Runs the turn; never rejects. `free` makes the lane available to the next turn; the settled promise does so at the
   * latest.
   */
  run(free: () => void): Promise<void>;
  /** Stops the running turn. */
  stop(cause: StopCause): void;
  /** Called instead of `run` for a turn that is refused. */
  refuse(error: ApiError): void;
}

/** The public state of a lane. */
export interface LaneState {
  readonly streamId: string | undefined;
  readonly running: boolean;
  readonly queued: number;
}

interface Lane {
  readonly streamId: string | undefined;
  readonly queue: LaneTask[];
  /** A turn of the server's own, which comes before the queue. */
  next: LaneTask | null;
  running: LaneTask | null;
}

/** Behaviour of lanes that the protocol leaves open. */
export interface LaneOptions {
  /** Handling of a turn on the busy default lane. */
  readonly overlap: 'reject' | 'queue';
  readonly budget: QueueBudget;
  /** The error for turns that have not begun, once the connection is closing. */
  readonly refusal: () => ApiError | null;
  /** Called when the last running turn has ended. */
  readonly onIdle: () => void;
}

/** The lanes of one connection (protocol §6.5): sequential within a lane, lanes in parallel, up to 16 turns at once. */
export class Lanes {
  private readonly lanes = new Map<string | undefined, Lane>();
  /** Lanes with a queued turn that wait for one of the MAX_IN_FLIGHT places, in order. */
  private readonly ready: Lane[] = [];
  private readonly share: QueueShare;
  private runningTasks = 0;

  constructor(private readonly options: LaneOptions) {
    this.share = options.budget.open();
  }

  /**
   * Runs a turn when it is at the head of its lane. Throws ApiError `websocket_stream_limit_reached`,
   * `concurrent_request` or `too_many_queued_requests` for a turn that is refused, or the error of a connection that is closing;
   * other turns are not affected.
   */
  submit(task: LaneTask): void {
    const refusal = this.options.refusal();
    if (refusal !== null) {
      this.submitLate(task, refusal);
      return;
    }
    const lane = this.laneOf(task.streamId);
    const isBusy = lane.running !== null || hasNext(lane);
    if (isBusy && lane.streamId === undefined && this.options.overlap === 'reject') throw concurrentRequest();
    // Ready lanes precede: they start in the next microtask or when a place is free.
    if (!isBusy && this.runningTasks < MAX_IN_FLIGHT && this.ready.length === 0) {
      this.start(lane, task);
      return;
    }
    this.enqueue(lane, task);
    if (!isBusy) this.ready.push(lane);
  }

  /** Has a turn follow the one that runs on its lane, before those that are queued. It takes no place of theirs. */
  putInFront(task: LaneTask): void {
    this.laneOf(task.streamId).next = task;
  }

  /** The connection is closing: refuses the queued turns, each in its place. Those behind a running one wait for its end. */
  refuseQueued(error: ApiError): void {
    for (const lane of this.lanes.values()) if (lane.running === null) this.refuseAll(lane, error);
  }

  /** Stops all running turns. */
  stop(cause: StopCause): void {
    for (const { running } of this.lanes.values()) running?.stop(cause);
  }

  /** The connection is closed: stops running turns and drops queued ones. */
  end(): void {
    this.stop('disconnect');
    for (const lane of this.lanes.values()) while (hasNext(lane)) this.takeNext(lane);
    this.ready.length = 0;
  }

  /** Number of running turns. */
  get inFlight(): number {
    return this.runningTasks;
  }

  /** The lanes used so far, in the order of their first use. */
  states(): readonly LaneState[] {
    return [...this.lanes.values()].map(({ streamId, running, queue, next }) => ({
      streamId,
      running: running !== null,
      queued: queue.length + (next === null ? 0 : 1),
    }));
  }

  /**
   * A turn on a connection that is closing. An error frame does not say which turn of its lane it answers, so clients would take
   * one for the end of the turn that runs: it follows that end.
   */
  private submitLate(task: LaneTask, refusal: ApiError): void {
    const lane = this.lanes.get(task.streamId);
    if (lane === undefined || lane.running === null) throw refusal;
    this.enqueue(lane, task);
  }

  private enqueue({ queue }: Lane, task: LaneTask): void {
    this.share.take(task.bytes);
    task.shelve();
    queue.push(task);
  }

  private laneOf(streamId: string | undefined): Lane {
    const known = this.lanes.get(streamId);
    if (known !== undefined) return known;
    const named = this.lanes.size - (this.lanes.has(undefined) ? 1 : 0);
    if (streamId !== undefined && named >= MAX_STREAM_IDS) throw tooManyStreams();
    const lane: Lane = { streamId, queue: [], next: null, running: null };
    this.lanes.set(streamId, lane);
    return lane;
  }

  private start(lane: Lane, task: LaneTask): void {
    lane.running = task;
    this.runningTasks += 1;
    let isFree = false;
    const free = (): void => {
      if (isFree) return;
      isFree = true;
      lane.running = null;
      this.runningTasks -= 1;
      if (hasNext(lane)) this.ready.push(lane);
      // Deferred, because the turn writes its last frame after freeing the lane.
      queueMicrotask(() => this.goOn());
    };
    task.run(free).then(free, free);
  }

  private goOn(): void {
    while (this.runningTasks < MAX_IN_FLIGHT) {
      const lane = this.ready.shift();
      if (lane === undefined) break;
      if (lane.running !== null) continue;
      const refusal = this.options.refusal();
      if (refusal !== null) {
        this.refuseAll(lane, refusal);
        continue;
      }
      const task = this.takeNext(lane);
      if (task !== undefined) this.start(lane, task);
    }
    if (this.runningTasks === 0) this.options.onIdle();
  }

  private takeNext(lane: Lane): LaneTask | undefined {
    const { next } = lane;
    lane.next = null;
    if (next !== null) return next;
    const task = lane.queue.shift();
    if (task !== undefined) this.share.giveBack(task.bytes);
    return task;
  }

  private refuseAll(lane: Lane, error: ApiError): void {
    while (hasNext(lane)) this.takeNext(lane)?.refuse(error);
  }
}

function hasNext({ next, queue }: Lane): boolean {
  return next !== null || queue.length > 0;
}

function concurrentRequest(): ApiError {
  return ApiError.of(
    'concurrent_request',
    'A response is already being generated on this connection. Wait for it, or name another lane with stream_id.',
  );
}

function tooManyStreams(): ApiError {
  return ApiError.of(
    'websocket_stream_limit_reached',
    `This WebSocket connection has reached its maximum number of distinct stream IDs (${MAX_STREAM_IDS}). ` +
      'Reuse an existing stream_id or open a new WebSocket connection.',
    { param: 'stream_id' },
  );
}
