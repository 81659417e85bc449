import { Injectable } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Roster } from '../../roster.js';
import { ApiError } from '../../protocol/index.js';
import type { ActiveTurn } from './active-turn.js';
import type { BegunTurn } from './turn-observer.js';

/** The running turns of this process. Shutdown refuses new ones and waits for the rest. */
@Injectable()
export class RunningTurns {
  private readonly turns = new Roster<ActiveTurn>();
  private closed = false;
  private whenIdle = Promise.withResolvers<undefined>();

  get size(): number {
    return this.turns.size;
  }

  /** The running turns of a tenant, as they have begun, with their providers; null for one that has none yet. */
  ofTenant(tenant: Tenant): readonly (BegunTurn & { readonly provider: string | null })[] {
    return Array.from(this.turns)
      .filter(({ admitted }) => admitted.caller.tenant === tenant)
      .map(({ begun, ending }) => ({ ...begun, provider: ending.provider }));
  }

  /** One of a tenant by its response, as far as it has come. */
  find(tenant: Tenant, responseId: string): ActiveTurn | undefined {
    for (const turn of this.turns) {
      if (turn.responseId === responseId && turn.admitted.caller.tenant === tenant) return turn;
    }
    return undefined;
  }

  /** How many run in the background. */
  get background(): number {
    let count = 0;
    for (const { run } of this.turns) if (run !== null) count += 1;
    return count;
  }

  /** Adds a turn. Throws 503 `service_unavailable` once the process is shutting down. */
  begin(turn: ActiveTurn): void {
    this.refuseWhenClosed();
    turn.place = this.turns.add(turn);
  }

  /** Throws 503 `service_unavailable` once the process is shutting down. */
  refuseWhenClosed(): void {
    if (this.closed) {
      throw ApiError.of('service_unavailable', 'The server is shutting down. Please retry your request.', {
        headers: { 'retry-after': '1', connection: 'close' },
      });
    }
  }

  /** Removes a turn. Repeated calls do nothing. */
  end(turn: ActiveTurn): void {
    if (turn.place !== null) this.turns.take(turn.place);
    turn.place = null;
    if (this.closed && this.turns.size === 0) this.whenIdle.resolve(undefined);
  }

  /** Refuses new turns; resolves when the last running one has ended. */
  close(): Promise<void> {
    this.closed = true;
    if (this.turns.size === 0) this.whenIdle.resolve(undefined);
    return this.whenIdle.promise;
  }

  /** Stops every turn because the process ends; another process or the next start goes on with background turns if it can. */
  drain(): void {
    for (const turn of this.turns) turn.stop(turn.run?.isDurable === true ? 'hand_over' : 'drain');
  }
}
