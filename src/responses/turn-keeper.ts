import { Injectable } from '@nestjs/common';

import type { Continuations } from '../context/index.js';
import type { ResponseObject } from '../protocol/index.js';
import { type ResponseRecord, ResponseStore, SessionLockLostError } from '../state/index.js';
import { Clock } from '../time/index.js';
import type { AdmittedTurn } from './admitted-turn.js';
import { isSessionLost } from './stop-reason.js';
import type { FinishedRun, Run } from './turn-runner.js';

/** Keeps what a turn made, so that it can be continued. */
@Injectable()
export class TurnKeeper {
  constructor(
    private readonly store: ResponseStore,
    private readonly clock: Clock,
  ) {}

  /** Throws StoreUnavailableError for a turn whose response is to be stored, when it is known that it could not be. */
  async expect({ settings }: AdmittedTurn): Promise<void> {
    if (settings.store) await this.store.expectSave();
  }

  /**
   * Stores a response unless its request does not want that, and remembers it for its connection. Throws
   * StoreUnavailableError; then it is not remembered either.
   */
  async keep(
    run: Run,
    { origin }: FinishedRun,
    response: ResponseObject,
    continuations: Continuations | undefined,
  ): Promise<void> {
    const { admitted, prepared, live } = run;
    const { settings, caller, ttlSeconds } = admitted;
    const { parent, turn, sessionId, conversation } = prepared;
    const responseId = response.id;
    // What failed cannot be continued.
    const memory = response.status === 'failed' ? undefined : continuations;
    if (isSessionLost(live.signal.reason)) throw new SessionLockLostError(sessionId);
    const expiresAt = settings.store ? this.clock.now() + ttlSeconds * 1000 : null;
    if (expiresAt !== null) {
      // It may be deleted as soon as it is stored, before we know that it is.
      memory?.expect(responseId);
      const record: ResponseRecord = {
        response,
        input: turn.input,
        parentId: parent?.responseId ?? null,
        origin,
        sessionId,
        fence: live.fence,
        expiresAt,
        // A store that has the parent does not look, and a long conversation is not copied.
        get inherited() {
          return parent?.conversation.items ?? [];
        },
      };
      try {
        await this.store.save(caller.owner, record);
      } catch (error) {
        memory?.cancel(responseId);
        throw error;
      }
    }
    memory?.remember(
      { responseId, conversation: conversation.append(response.output), origin, sessionId, expiresAt },
      parent,
    );
  }
}
