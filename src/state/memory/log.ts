import type { Tenant } from '../../access/index.js';
import { estimateBytes, type ResponseObject, type StreamEvent } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import type { Ending, QueueBounds } from '../background-runs.js';
import { QueueFullError, RunLostError } from '../errors.js';
import { begins, EventLog, finishedItems, hasItems, type LogBatch, type LogPage, type Run } from '../event-log.js';
import type { RunNotices } from '../notices.js';
import type { MemoryState } from './state.js';
import type { Node, NodeRun } from './node.js';

/** Estimated bytes of an event beyond its text. */
const EVENT_BYTES = 100;
/** The share of the memory that responses may take before they have ended. */
const UNFINISHED_SHARE = 0.5;
/** Most events of a page. */
const PAGE_EVENTS = 2000;

/** A response that is or was in the background. */
export type RunningNode = Node & { readonly run: NodeRun };

/** The events of background responses in memory, and what those that have not ended take of it. */
export class MemoryEventLog extends EventLog {
  /** Responses that wait, in the order of their creation. */
  readonly queued = new Set<RunningNode>();
  private readonly queuedOf = new Map<Tenant, number>();
  /** Estimated bytes of those that have not ended. */
  private unfinishedBytes = 0;

  constructor(
    private readonly state: MemoryState,
    private readonly notices: RunNotices,
    private readonly clock: Clock,
    private readonly maxBytes: number,
  ) {
    super();
    state.onDrop = (node) => this.forget(node);
  }

  /** Throws QueueFullError. */
  admit(tenant: Tenant, { total, perTenant }: QueueBounds): void {
    // The rest is for responses that have ended.
    const isFull = this.unfinishedBytes > this.maxBytes * UNFINISHED_SHARE;
    if (isFull || this.queued.size >= total) throw new QueueFullError('total');
    if ((this.queuedOf.get(tenant) ?? 0) >= perTenant) throw new QueueFullError('perTenant');
  }

  /** A response was stored and waits. */
  enter(node: Node, opening: LogBatch): void {
    if (!isRun(node)) return;
    this.queued.add(node);
    this.queuedOf.set(node.tenant, (this.queuedOf.get(node.tenant) ?? 0) + 1);
    this.unfinishedBytes += node.bytes;
    this.grow(node, node.run.turn.length);
    this.write(node, opening);
  }

  /** A response was moved here with its log, and waits, runs or has ended. */
  restore(node: Node, log: LogBatch): void {
    if (!isRun(node)) return;
    this.enter(node, log);
    if (node.response.status !== 'queued') this.leaveQueue(node);
    if (node.run.logExpiresAt === null) return;
    this.unfinishedBytes -= node.bytes;
    this.state.settle(node, 0);
  }

  override async append(run: Run, batch: LogBatch): Promise<void> {
    const node = this.find(run);
    if (node === undefined) throw new RunLostError(run.responseId);
    this.write(node, batch);
    if (begins(batch)) {
      this.leaveQueue(node);
      node.response = { ...node.response, status: 'in_progress' };
    }
    this.notices.announceLogged([node.id], batch.events);
  }

  override async read(
    tenant: Tenant,
    responseId: string,
    after: number,
    within?: string,
  ): Promise<LogPage | undefined> {
    const node = this.state.find(tenant, responseId, within);
    if (node === undefined) return undefined;
    if (!isRun(node) || !node.run.isStream) return { missing: 'no stream' };
    const { events, logExpiresAt } = node.run;
    if ((logExpiresAt ?? Infinity) <= this.clock.now()) return { missing: 'expired' };
    const page = events.slice(after + 1, after + 1 + PAGE_EVENTS);
    return { events: page, isLast: logExpiresAt !== null && after + 1 + page.length >= events.length };
  }

  /** The response of a run that may write. */
  find({ tenant, responseId, attempt }: Run): RunningNode | undefined {
    const node = this.state.find(tenant, responseId);
    if (node === undefined || !isRun(node)) return undefined;
    return node.run.attempt === attempt && node.run.logExpiresAt === null ? node : undefined;
  }

  /** A response ends, with its last events. */
  end(node: RunningNode, { response, given, origin, expiresAt, log, logExpiresAt }: Ending): void {
    const before = estimateBytes(node.response);
    this.leaveQueue(node);
    this.write(node, log);
    Object.assign(node, { response, given, origin, expiresAt });
    node.run.logExpiresAt = logExpiresAt;
    const spared = before + node.run.turn.length;
    node.run.turn = '';
    this.unfinishedBytes -= node.bytes;
    this.state.settle(node, estimateBytes([response, given]) - spared);
    this.notices.announceLogged([node.id], log.events);
  }

  /** A response as clients see it: while it runs, with the items that it has finished. */
  show({ response, run }: Node): ResponseObject {
    if (run === null || run.logExpiresAt !== null || !hasItems(run)) return response;
    return { ...response, output: finishedItems(run) };
  }

  /** Drops the events of a response whose log has expired. */
  dropLog({ run }: Node): number {
    if (run === null || run.events.length === 0 || (run.logExpiresAt ?? Infinity) > this.clock.now()) return 0;
    const bytes = bytesOf(run);
    run.events = [];
    run.notes = [];
    return bytes;
  }

  /** A deleted response is not found any more, so its run is lost. */
  private forget(node: Node): void {
    if (!isRun(node)) return;
    this.leaveQueue(node);
    if (node.run.logExpiresAt === null) this.unfinishedBytes -= node.bytes;
  }

  private write(node: RunningNode, { firstEvent, firstNote, events, notes }: LogBatch): void {
    const { run } = node;
    // A repeated batch.
    if (firstEvent < run.events.length || firstNote < run.notes.length) return;
    run.events.push(...events.map(withoutResponse));
    run.notes.push(...notes);
    this.grow(node, bytesOf({ events, notes }));
  }

  /** A response that has not ended has become larger. */
  private grow(node: RunningNode, bytes: number): void {
    this.unfinishedBytes += bytes;
    this.state.grow(node, bytes);
  }

  private leaveQueue(node: RunningNode): void {
    if (!this.queued.delete(node)) return;
    const left = (this.queuedOf.get(node.tenant) ?? 1) - 1;
    if (left === 0) this.queuedOf.delete(node.tenant);
    else this.queuedOf.set(node.tenant, left);
  }
}

/** Whether a response is or was in the background. */
export function isRun(node: Node): node is RunningNode {
  return node.run !== null;
}

/** All events and notes of a run. */
export function wholeLog({ events, notes }: NodeRun): LogBatch {
  return { firstEvent: 0, firstNote: 0, events: [...events], notes: [...notes] };
}

/** The text of the terminal event has it already. */
function withoutResponse(event: StreamEvent): StreamEvent {
  return event.response === null ? event : { ...event, response: null };
}

function bytesOf({ events, notes }: Pick<LogBatch, 'events' | 'notes'>): number {
  const texts = events.reduce((bytes, { json }) => bytes + EVENT_BYTES + json.length, 0);
  return notes.length === 0 ? texts : texts + estimateBytes(notes);
}
