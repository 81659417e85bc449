import type { Tenant } from '../../access/index.js';
import type { JobReference, NewJob } from '../../state/index.js';
import type { AdmittedTurn } from '../turn/admit.js';
import type { Transport } from '../turn/turn-observer.js';

/** A background turn as it is stored until its end. */
export interface BackgroundTurn {
  /** Its input is stored with the response. */
  readonly admitted: AdmittedTurn;
  /** The transport of the answer to its creator. */
  readonly transport: Transport;
  /** The id of the job that runs it. */
  readonly jobId: string;
  /** When the request was accepted, milliseconds since the epoch. */
  readonly begunAt: number;
}

/** The data of the job that runs it. */
export interface TurnJob {
  readonly tenant: Tenant;
  readonly responseId: string;
}

/** The job that runs a turn. */
export function toJob({ admitted, jobId }: BackgroundTurn): NewJob {
  const { responseId, caller } = admitted;
  const data: TurnJob = { tenant: caller.tenant, responseId };
  return { ...referTo(jobId), data };
}

/** The job with an id, in the queue of background turns. */
export function referTo(id: string): JobReference {
  return { queue: 'turns', id };
}

/** A turn to store. */
export function writeTurn({ admitted, ...rest }: BackgroundTurn): string {
  const turn: BackgroundTurn = { admitted: { ...admitted, input: [] }, ...rest };
  return JSON.stringify(turn);
}

/** A stored turn, without its input. */
export function readTurn(json: string): BackgroundTurn {
  return JSON.parse(json) as BackgroundTurn;
}
