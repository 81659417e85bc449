import type { Tenant } from '../../access/index.js';
import type { Tool } from '../../protocol/index.js';
import type { Seals } from '../../context/seals/index.js';
import { DamagedRecordError, type JobReference, type NewJob, readRecord, responseRecord } from '../../state/index.js';
import type { MaybePromise } from '../../time/index.js';
import { withoutUrlSecrets } from '../../tools/mcp/index.js';
import { isObject, objectsIn } from '../../validation/index.js';
import type { AdmittedTurn } from '../turn/admit.js';
import type { Transport } from '../turn/turn-observer.js';

/** A background turn as it is stored until its end. */
export interface BackgroundTurn {
  /** The admitted turn; what is stored of it has no input, which the response has. */
  readonly admitted: AdmittedTurn;
  /** The transport of the answer to its creator. */
  readonly transport: Transport;
  /** The id of the job that runs it. */
  readonly jobId: string;
  /** When the request was accepted, milliseconds since the epoch. */
  readonly begunAt: number;
  /** The sealed credentials of its MCP servers, by the places of their tools; absent without any. */
  readonly credentials?: string;
}

/** The members of an admitted turn that are objects. */
const MEMBERS = ['caller', 'parameters', 'settings'];

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

/**
 * A turn to store. The credentials of its MCP servers are sealed: whichever process runs it needs them, and nobody else may read them.
 * Rejects with StoreUnavailableError.
 */
export async function writeTurn({ admitted, ...rest }: BackgroundTurn, seals: Seals): Promise<string> {
  const { parameters, caller } = admitted;
  const tools = objectsIn(parameters.tools).map(divide);
  const hasCredentials = tools.some(({ credentials }) => credentials !== null);
  const turn: BackgroundTurn = {
    admitted: {
      ...admitted,
      input: [],
      ...(hasCredentials ? { parameters: { ...parameters, tools: tools.map(({ tool }) => tool) } } : {}),
    },
    ...rest,
  };
  if (!hasCredentials) return JSON.stringify(turn);
  const ring = await seals.ring();
  const credentials = JSON.stringify(tools.map((each) => each.credentials));
  return JSON.stringify({ ...turn, credentials: ring.seal(caller.tenant, 'credentials', credentials) });
}

/** A stored turn, without its input, and without credentials. Throws DamagedRecordError. */
export function readTurn(json: string, responseId: string): BackgroundTurn {
  const record = `the turn of ${responseRecord(responseId)}`;
  const turn = readRecord<BackgroundTurn>(json, record, 'jobId');
  const { admitted } = turn as { readonly admitted: unknown };
  if (isObject(admitted) && MEMBERS.every((member) => isObject(admitted[member]))) return turn;
  throw new DamagedRecordError(record, 'an admitted turn was expected');
}

/** A stored turn with its credentials; undefined if they cannot be opened any more. Rejects with StoreUnavailableError. */
export function withCredentials(turn: BackgroundTurn, seals: Seals): MaybePromise<BackgroundTurn | undefined> {
  const { credentials } = turn;
  return credentials === undefined ? turn : open(turn, credentials, seals);
}

async function open(turn: BackgroundTurn, sealed: string, seals: Seals): Promise<BackgroundTurn | undefined> {
  const { admitted } = turn;
  const { parameters, caller } = admitted;
  const opened = (await seals.ringFor([sealed])).open(caller.tenant, 'credentials', sealed);
  if (typeof opened === 'string') return undefined;
  const credentials = JSON.parse(opened.text) as readonly (object | null)[];
  const tools = (parameters.tools ?? []).map((tool, index) => ({ ...tool, ...credentials[index] }));
  return { ...turn, admitted: { ...admitted, parameters: { ...parameters, tools } } };
}

/** A tool without the credentials of its MCP server, and these. */
function divide(tool: Readonly<Record<string, unknown>>): { readonly tool: Tool; readonly credentials: object | null } {
  const { authorization, headers, server_url: url, ...rest } = tool;
  const isPlain = typeof url !== 'string' || withoutUrlSecrets(url) === url;
  if (tool['type'] !== 'mcp' || (authorization == null && headers == null && isPlain))
    return { tool: tool as unknown as Tool, credentials: null };
  return { tool: rest as unknown as Tool, credentials: { authorization, headers, server_url: url } };
}
