import type { Tenant } from '../../access/index.js';
import type { NewJob } from '../../state/index.js';
import type { AdmittedTurn, Transport } from '../turn/index.js';

/** A background turn as it is stored until its end. */
export interface BackgroundTurn {
  /** Its input is stored with the response. */
  readonly admitted: AdmittedTurn;
  /** The transport of the answer to its creator. */
  readonly transport: Transport;
  /** When the request was accepted, milliseconds since the epoch. */
  readonly begunAt: number;
}

/** The data of the job that runs it. */
export interface TurnJob {
  readonly tenant: Tenant;
  readonly responseId: string;
}

/** The job that runs a turn. */
export function toJob({ responseId, caller: { tenant } }: AdmittedTurn): NewJob {
  const data: TurnJob = { tenant, responseId };
  return { queue: 'turns', data };
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
