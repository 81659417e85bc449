import { randomUUID } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import type { ResponseObject } from '../../protocol/index.js';
import { Seals } from '../../context/seals/index.js';
import { SessionGate } from '../../resources/sessions/index.js';
import { BackgroundRuns } from '../../state/index.js';
import { ActiveTurn, type TurnClient } from '../turn/active-turn.js';
import type { AdmittedTurn } from '../turn/admit.js';
import { Assemblers } from '../turn/assemblers.js';
import { Entrance } from '../turn/entrance.js';
import { TurnFailures } from '../turn/failures.js';
import { type ResolvedTurn, TurnResolver } from '../turn/resolve.js';
import { toJob, writeTurn } from './background-turn.js';

/** Creates background responses (protocol §1.1). */
@Injectable()
export class BackgroundResponses {
  constructor(
    private readonly entrance: Entrance,
    private readonly resolver: TurnResolver,
    private readonly sessions: SessionGate,
    private readonly assemblers: Assemblers,
    private readonly runs: BackgroundRuns,
    private readonly failures: TurnFailures,
    private readonly environment: Environment,
    private readonly seals: Seals,
  ) {}

  /**
   * Queues a turn and returns its Response. `client` has the transport of the answer, and receives the headers of the Admission.
   * Throws ApiError for a request that the turn would refuse, the refusals of the Admission, 429 `background_queue_full`, and 503
   * during shutdown.
   */
  async create(asked: AdmittedTurn, client: TurnClient): Promise<ResponseObject> {
    const turn = new ActiveTurn(asked, client);
    try {
      this.entrance.openQueued(turn);
      const response = await this.queue(turn);
      this.entrance.queued(turn);
      return response;
    } catch (error) {
      const refusal = this.failures.toRefusal(error, asked);
      this.entrance.refuse(turn, refusal);
      throw refusal;
    } finally {
      // The worker runs it as a turn of its own.
      turn.finish();
    }
  }

  private async queue(turn: ActiveTurn): Promise<ResponseObject> {
    const resolved = await this.resolver.resolve(turn);
    const admitted = await this.entrance.queue(turn, resolved);
    try {
      return await this.store(turn, admitted, resolved);
    } catch (error) {
      await this.entrance.dequeue(admitted);
      throw error;
    }
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
}
