import { Injectable } from '@nestjs/common';

import type { AdmittedTurn } from './admitted-turn.js';

/** Gives back what `acquire` took. Called exactly once, however the turn ended. */
export type Release = () => void;

/** Decides whether a turn may run now. Limits and quotas live behind this token, never in the service. */
export abstract class Admission {
  /** Resolves when the turn may run; throws ApiError (429, 503) when it may not. */
  abstract acquire(turn: AdmittedTurn): Promise<Release>;
}

/** Lets every turn run. */
@Injectable()
export class OpenAdmission extends Admission {
  override async acquire(): Promise<Release> {
    return () => undefined;
  }
}
