import { randomUUID } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import type { Turn } from '../../providers/index.js';
import { Seals } from '../../context/seals/index.js';
import { SessionGate } from '../../resources/sessions/index.js';
import { BackgroundRuns } from '../../state/index.js';
import { Clock } from '../../time/index.js';
import { ActiveTurn, type TurnClient } from '../turn/active-turn.js';
import { Admission } from '../turn/admission.js';
import type { AdmittedTurn } from '../turn/admit.js';
import { Assemblers } from '../turn/assemblers.js';
import { RunningTurns } from '../turn/running-turns.js';
import { TurnObservers } from '../turn/turn-observer.js';
import { TurnEstimate } from '../turn/turn-estimate.js';
import { TurnFailures } from '../turn/failures.js';
import { type ResolvedTurn, TurnResolver } from '../turn/resolve.js';
import { BackgroundEndings } from './background-endings.js';
import { toJob, writeTurn } from './background-turn.js';
import { BackgroundWorker } from './background-worker.js';

/** Creates and cancels background responses (protocol §1.1). */
@Injectable()
export class BackgroundResponses {
  constructor(
    private readonly resolver: TurnResolver,
    private readonly sessions: SessionGate,
    private readonly assemblers: Assemblers,
    private readonly runs: BackgroundRuns,
    private readonly endings: BackgroundEndings,
    private readonly worker: BackgroundWorker,
    private readonly runningTurns: RunningTurns,
    private readonly observers: TurnObservers,
    private readonly failures: TurnFailures,
    private readonly clock: Clock,
    private readonly environment: Environment,
    private readonly admission: Admission,
    private readonly seals: Seals,
  ) {}

  /**
   * Queues a turn and returns its Response. `client` has the transport of the answer, and receives the headers of the Admission.
   * Throws ApiError for a request that the turn would refuse, the refusals of the Admission, 429 `background_queue_full`, and 503
   * during shutdown.
   */
  async create(asked: AdmittedTurn, client: TurnClient): Promise<ResponseObject> {
    const turn = new ActiveTurn(asked, client);
    turn.startedAt = this.clock.now();
    try {
      this.runningTurns.refuseWhenClosed();
      const response = await this.queue(turn);
      this.observers.begun(() => turn.begun);
      return response;
    } catch (error) {
      const refusal = this.failures.toRefusal(error, asked);
      this.observers.refused(asked.caller, refusal);
      throw refusal;
    } finally {
      // The worker runs it as a turn of its own.
      turn.finish();
    }
  }

  private async queue(turn: ActiveTurn): Promise<ResponseObject> {
    const { admitted: asked, client } = turn;
    const { session, settings, caller } = asked;
    const resolved = await this.resolver.resolve(turn);
    if (session !== null && settings.store)
      await this.sessions.refuseWhenFull(caller.tenant, session.id, session.param);
    const admitted = await this.count(asked, resolved.question, client);
    try {
      return await this.store(turn, admitted, resolved);
    } catch (error) {
      await this.admission.dequeue?.(admitted, null);
      throw error;
    }
  }

  /** The turn with what the Admission has counted for it. */
  private async count(asked: AdmittedTurn, question: Turn, client: TurnClient): Promise<AdmittedTurn> {
    const queued = await this.admission.queue?.(asked, new TurnEstimate(asked, question));
    if (queued?.headers !== undefined) client.onHeaders?.(queued.headers);
    return queued?.receipt === undefined ? asked : { ...asked, receipt: queued.receipt };
  }

  /** Stores the response with its first events and the job that runs it. */
  private async store(
    { client, startedAt }: ActiveTurn,
    admitted: AdmittedTurn,
    { input, parent, sessionId }: ResolvedTurn,
  ): Promise<ResponseObject> {
    const { transport = 'json' } = client;
    const { BACKGROUND_MAX_QUEUED: total, BACKGROUND_MAX_QUEUED_PER_TENANT: perTenant } = this.environment;
    const assembler = this.assemblers.make(admitted, 'events and notes');
    assembler.queue();
    const background = { admitted, transport, jobId: randomUUID(), begunAt: startedAt };
    const response = assembler.queued();
    const record = {
      response,
      input,
      parentId: parent?.responseId ?? null,
      inherited: parent?.transcript.items ?? [],
      sessionId,
      sessionLimit: admitted.settings.store ? this.sessions.limitOf(admitted) : undefined,
      turn: await writeTurn(background, this.seals),
      isStream: transport === 'sse',
      opening: { firstEvent: 0, firstNote: 0, events: assembler.takeEvents(), notes: assembler.takeNotes() },
      job: toJob(background),
    };
    await this.runs.create(admitted.caller.tenant, record, { total, perTenant });
    return response;
  }

  /**
   * Cancels a response, or returns the one that has ended. When it runs in this process, its model has stopped. Undefined
   * when it is not found, or was never in the background.
   */
  async cancel(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject | undefined> {
    const response = await this.endings.cancel(tenant, responseId, within);
    if (response?.status === 'cancelled') await this.worker.whenStopped(responseId);
    return response;
  }
}
