import type { Tenant } from '../../access/index.js';
import {
  BackgroundRuns,
  type Ending,
  type QueueBounds,
  type QueuedRecord,
  type StartedRun,
  toResponseRecord,
} from '../background-runs.js';
import { RunLostError } from '../errors.js';
import type { Run, RunName } from '../event-log.js';
import type { InProcessJobQueue } from '../in-process/jobs.js';
import type { DeleteOptions } from '../response-store.js';
import type { RunNotices } from '../notices.js';
import { isRun, type MemoryEventLog, wholeLog } from './log.js';
import type { MemoryResponseStore } from './responses.js';
import type { MemoryState } from './state.js';
import type { MemoryUsageStore } from './usage.js';
import { isInConversation, type NodeRun, subtreeOf, transcriptOf } from './node.js';

/** What MemoryRuns needs. */
export interface MemoryRunsParts {
  readonly state: MemoryState;
  readonly responses: MemoryResponseStore;
  readonly log: MemoryEventLog;
  readonly notices: RunNotices;
  readonly jobs: InProcessJobQueue;
  readonly usage: MemoryUsageStore;
}

/** The life of background responses in memory: created, started, ended. */
export class MemoryRuns extends BackgroundRuns {
  constructor(private readonly parts: MemoryRunsParts) {
    super();
  }

  override async create(tenant: Tenant, record: QueuedRecord, bounds: QueueBounds): Promise<void> {
    const { responses, log, jobs } = this.parts;
    log.admit(tenant, bounds);
    responses.requireRoom(tenant, record);
    const node = responses.add(tenant, { ...toResponseRecord(record), expiresAt: Infinity }, toRun(record));
    log.enter(node, record.opening);
    jobs.add([record.job]);
  }

  override async start({ tenant, responseId, attempt }: Run): Promise<StartedRun | undefined> {
    const node = this.parts.state.find(tenant, responseId);
    if (node === undefined || !isRun(node)) return undefined;
    const { run, parent, input, sessionId, response } = node;
    if (run.logExpiresAt !== null || run.attempt >= attempt) return undefined;
    run.attempt = attempt;
    run.attempts += 1;
    return {
      turn: run.turn,
      input,
      context: [...(parent === null ? [] : transcriptOf(parent)), ...node.inherited],
      parent: parent && {
        responseId: parent.id,
        origin: parent.origin,
        isInConversation: isInConversation(parent),
        expiresAt: parent.expiresAt,
      },
      sessionId,
      log: wholeLog(run),
      attempts: run.attempts,
      isRestart: response.status !== 'queued' || run.attempts > 1,
    };
  }

  override async handBack(run: Run): Promise<void> {
    const node = this.parts.log.find(run);
    if (node !== undefined) node.run.attempts -= 1;
  }

  override async finish(run: Run, ending: Ending): Promise<void> {
    const { state, responses, log } = this.parts;
    const { tenant, responseId } = run;
    const stored = state.find(tenant, responseId);
    if (stored !== undefined) responses.requireLock(tenant, { ...ending, sessionId: stored.sessionId });
    const place = responses.placeOf(tenant, ending.conversation);
    const entries = responses.entriesOf(place, { ...ending, input: stored?.input ?? [] });
    const node = log.find(run);
    if (node === undefined) throw new RunLostError(responseId);
    log.end(node, ending);
    if (place !== null) state.place(node, place);
    responses.enter(place, entries);
    this.note(ending);
    state.dropUntilItFits();
  }

  override async conclude(
    ...[tenant, responseId, compose, { within, attempt }]: Parameters<BackgroundRuns['conclude']>
  ) {
    const { state, log, notices } = this.parts;
    const node = state.find(tenant, responseId, within);
    if (node === undefined || !isRun(node)) return undefined;
    const { run, response } = node;
    const isOpen = run.logExpiresAt === null && (attempt === undefined || run.attempt === attempt);
    const ending = isOpen ? compose({ response, turn: run.turn, log: wholeLog(run) }) : undefined;
    if (ending !== undefined) {
      this.note(ending);
      log.end(node, ending);
      notices.announceEnded([node.id]);
    }
    const shown = log.show(node);
    state.dropUntilItFits();
    return shown;
  }

  override async unfinished(tenant: Tenant, responseId: string, { cascade }: DeleteOptions, within?: string) {
    const node = this.parts.state.find(tenant, responseId, within);
    if (node === undefined) return [];
    return subtreeOf(node, cascade)
      .filter(({ run }) => run !== null && run.logExpiresAt === null)
      .map(({ id }) => id);
  }

  override async queuedBefore(createdBefore: number, limit: number) {
    const old: RunName[] = [];
    for (const { tenant, id, createdAt } of this.parts.log.queued) {
      if (createdAt * 1000 >= createdBefore || old.length === limit) break;
      old.push({ tenant, responseId: id });
    }
    return old;
  }

  /** What an end brings beside its response. */
  private note({ usage, jobs, uselessJob }: Ending): void {
    if (usage !== undefined) this.parts.usage.add(usage);
    this.parts.jobs.add(jobs);
    if (uselessJob !== undefined) this.parts.jobs.remove(uselessJob);
  }
}

function toRun({ turn, isStream, response }: QueuedRecord): NodeRun {
  const isContinuable = response.store;
  return { turn, isStream, isContinuable, attempt: 0, attempts: 0, events: [], notes: [], logExpiresAt: null };
}
