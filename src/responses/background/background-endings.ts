import { Injectable, Logger } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import {
  type FinalStatus,
  type ResponseErrorBody,
  type ResponseObject,
  TERMINAL_EVENTS,
} from '../../protocol/index.js';
import {
  BackgroundRuns,
  type ConcludeOptions,
  DamagedRecordError,
  type Ending,
  type LogBatch,
  reasonOfDamage,
  type UnfinishedResponse,
} from '../../state/index.js';
import { estimateItemTokens, loadTokenizer } from '../../providers/index.js';
import { Clock } from '../../time/index.js';
import { Webhooks } from '../../operations/webhooks/index.js';
import { foldEvents } from '../assembler/fold-events.js';
import type { Outcome } from '../assembler/response-snapshot.js';
import type { ResponseAssembler } from '../assembler/response-assembler.js';
import { Admission } from '../turn/admission.js';
import type { AdmittedTurn } from '../turn/admit.js';
import { Assemblers } from '../turn/assemblers.js';
import type { BackgroundEnding } from '../turn/active-turn.js';
import { type TurnRecord, TurnObservers } from '../turn/turn-observer.js';
import { UsageRecords } from '../turn/usage-records.js';
import { readTurn, referTo } from './background-turn.js';

/** How long a background response with `store: false` is stored after its end, ms (protocol §9). */
const UNSTORED_TTL_MS = 600_000;

/** Which responses are to fail. */
interface FailOptions {
  readonly attempt?: number;
  readonly onlyQueued?: boolean;
  /** Whether the log says already that the response is damaged. */
  readonly isTold?: boolean;
}

/** The end of a response, and what observers are told of it. */
interface Composed {
  readonly ending: Ending;
  readonly record: TurnRecord;
  readonly admitted: AdmittedTurn;
}

/** The end of a response whose turn or log is damaged: who asked for it, and what it has used, is not known any more. */
interface Salvaged {
  readonly ending: Ending;
  readonly damage: string;
}

/** Ends background responses: composes what is stored at the end of a run, and ends responses from outside of theirs. */
@Injectable()
export class BackgroundEndings {
  private readonly logger = new Logger('BackgroundEndings');

  constructor(
    private readonly runs: BackgroundRuns,
    private readonly assemblers: Assemblers,
    private readonly webhooks: Webhooks,
    private readonly observers: TurnObservers,
    private readonly clock: Clock,
    private readonly environment: Environment,
    private readonly admission: Admission,
    private readonly usage: UsageRecords,
  ) {}

  /** The end of a response as it is stored. */
  toEnding(
    { settings, ttlSeconds, caller }: AdmittedTurn,
    { response, given, origin, conversation, fence, usage }: Omit<BackgroundEnding, 'events' | 'notes'>,
    log: LogBatch,
  ): Ending {
    const now = this.clock.now();
    const ttlMs = settings.store ? ttlSeconds * 1000 : UNSTORED_TTL_MS;
    const logExpiresAt = now + this.environment.EVENT_LOG_TTL * 1000;
    const jobs = this.webhooks.announcing(caller.tenant, response);
    const expiresAt = now + ttlMs;
    return { response, given, origin, conversation, fence, usage, log, expiresAt, logExpiresAt, jobs };
  }

  /**
   * Cancels a response that has not ended; another one is returned unchanged. Undefined when it is not found, or was
   * never in the background.
   */
  cancel(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject | undefined> {
    return this.end(tenant, responseId, { status: 'cancelled', usage: null }, { within });
  }

  /**
   * Ends a response that has not ended as failed; with `attempt` only if no later one has started, with `onlyQueued` only
   * one that waits.
   */
  async fail(tenant: Tenant, responseId: string, error: ResponseErrorBody, options: FailOptions): Promise<void> {
    await this.end(tenant, responseId, { status: 'failed', usage: null, error }, options);
  }

  private async end(
    tenant: Tenant,
    responseId: string,
    outcome: Outcome<FinalStatus>,
    { onlyQueued = false, isTold = false, ...options }: FailOptions & ConcludeOptions,
  ): Promise<ResponseObject | undefined> {
    let composed: Composed | Salvaged | undefined;
    await loadTokenizer();
    const compose = (unfinished: UnfinishedResponse): Ending | undefined => {
      composed = this.composeWhole(tenant, responseId, unfinished, outcome, onlyQueued);
      return composed?.ending;
    };
    const response = await this.runs.conclude(tenant, responseId, compose, options);
    // Only what is stored has ended.
    if (composed === undefined || response !== composed.ending.response) return response;
    if ('damage' in composed) {
      const said = `${responseId} was ended as ${response.status}, with what could be read of it: ${composed.damage}`;
      if (!isTold) this.logger.warn(said);
    } else {
      this.observers.settled(composed.record);
      await this.dequeue(composed);
    }
    return response;
  }

  /** As `compose`; a response whose turn or log cannot be read ends, too: it would otherwise be taken up again for ever. */
  private composeWhole(
    tenant: Tenant,
    responseId: string,
    unfinished: UnfinishedResponse,
    outcome: Outcome<FinalStatus>,
    onlyQueued: boolean,
  ): Composed | Salvaged | undefined {
    try {
      if (unfinished.damage !== undefined) throw unfinished.damage;
      return this.compose(responseId, unfinished, outcome, onlyQueued);
    } catch (error) {
      // What has another shape than it was written with fails in any way.
      const damage = error instanceof DamagedRecordError ? error.message : reasonOfDamage(error);
      const hasBegun = unfinished.log.events.some(({ type }) => type === 'response.in_progress');
      return onlyQueued && hasBegun
        ? undefined
        : { ending: this.salvage(tenant, responseId, unfinished, outcome), damage };
    }
  }

  /** The end of a response whose turn or log is damaged, without output. */
  private salvage(
    tenant: Tenant,
    responseId: string,
    { response: stored, log: { events, notes } }: UnfinishedResponse,
    { status, error }: Outcome<FinalStatus>,
  ): Ending {
    const now = this.clock.now();
    const begun = stored ?? emptyResponse(responseId, this.clock.nowInSeconds());
    const response: ResponseObject = { ...begun, status, error: error ?? null, output: [], usage: null };
    const sequenceNumber = (events.at(-1)?.sequenceNumber ?? -1) + 1;
    const type = TERMINAL_EVENTS[status];
    const json = JSON.stringify({ type, sequence_number: sequenceNumber, response }).slice(0, -1);
    const { EVENT_LOG_TTL, RESPONSE_TTL } = this.environment;
    return {
      ...{ response, given: [], origin: null, conversation: null, fence: null },
      log: {
        ...{ firstEvent: sequenceNumber, firstNote: notes.length, notes: [] },
        events: [{ type, sequenceNumber, json, deltaLength: -1, response }],
      },
      expiresAt: now + (response.store ? RESPONSE_TTL * 1000 : UNSTORED_TTL_MS),
      logExpiresAt: now + EVENT_LOG_TTL * 1000,
      jobs: this.webhooks.announcing(tenant, response),
    };
  }

  private async dequeue({ admitted, record }: Composed): Promise<void> {
    try {
      await this.admission.dequeue?.(admitted, record.usage);
    } catch (error) {
      this.logger.error(`what was counted for ${record.responseId} could not be settled`, error);
    }
  }

  /** What the run has come to, up to its last event; undefined for one that is to go on. */
  private compose(
    responseId: string,
    { turn, log }: UnfinishedResponse,
    outcome: Outcome<FinalStatus>,
    onlyQueued: boolean,
  ): Composed | undefined {
    const { admitted, transport, jobId, begunAt } = readTurn(turn, responseId);
    const state = foldEvents(log);
    if (onlyQueued && state.opening === 'in_progress') return undefined;
    const place = { firstEvent: state.sequenceNumber, firstNote: log.notes.length };
    const assembler = this.assemblers.make(admitted, 'events and notes', { state });
    assembler.cutItems();
    countUnended(assembler);
    const { usage } = assembler;
    const known = outcome.status === 'cancelled' ? outcome : { ...outcome, usage };
    const response = assembler.conclude(known, this.clock.nowInSeconds());
    assembler.terminate(response);
    const origin = state.passes.at(-1)?.origin ?? null;
    const now = this.clock.now();
    const ended = {
      responseId: admitted.responseId,
      caller: admitted.caller,
      model: admitted.settings.model,
      background: true,
      door: 'responses' as const,
      transport,
      provider: origin?.provider ?? null,
      status: response.status,
      usage,
    };
    const used = this.usage.of({ ...ended, endedAt: now });
    const ending = this.toEnding(
      admitted,
      { response, given: assembler.hidden, origin, conversation: null, fence: null, usage: used },
      { ...place, events: assembler.takeEvents(), notes: assembler.takeNotes() },
    );
    const record: TurnRecord = {
      ...ended,
      startedAt: begunAt,
      trace: admitted.trace ?? null,
      isUsageStored: used !== undefined,
      response,
      droppedEvents: 0,
      errorCode: response.error?.code ?? null,
      firstEventMs: null,
      longestGapMs: null,
      batches: 0,
      attempts: [],
      toolRuns: [],
      durationMs: now - begunAt,
    };
    return { ending: { ...ending, uselessJob: referTo(jobId) }, record, admitted };
  }
}

/** A Response of which nothing is known but its id. `createdAt`: Unix seconds. */
function emptyResponse(id: string, createdAt: number): ResponseObject {
  const settings = { model: 'unknown', background: true, store: true, metadata: {}, instructions: null };
  const tools = { tools: [], tool_choice: 'auto', parallel_tool_calls: true };
  const members = { id, object: 'response', created_at: createdAt, completed_at: null, incomplete_details: null };
  return { ...members, ...settings, ...tools, previous_response_id: null } as unknown as ResponseObject;
}

/** Counts the pass that was under way, by what the log holds, unless its model has reported that itself. */
function countUnended(assembler: ResponseAssembler): void {
  const pass = assembler.state.passes.at(-1);
  if (pass === undefined || pass.usage !== null) return;
  const written = assembler.writtenFrom(pass.firstIndex);
  if (written.length === 0) return;
  assembler.report({
    input: pass.asked ?? 0,
    cached: 0,
    cacheWrite: 0,
    output: estimateItemTokens(written),
    reasoning: 0,
  });
}
