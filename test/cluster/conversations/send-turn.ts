import { requireRule } from '../../../src/testing/events/rule.js';
import type { WireEvent } from '../../../src/testing/index.js';
import { SocketClient } from '../../support/socket-client.js';
import { readEvents } from '../../support/sse.js';
import { Refusal, type WireResponse } from '../../support/transport.js';

/** A turn that a client was not given, as it saw it. */
export class TurnFault extends Error {
  override readonly name = 'TurnFault';

  constructor(
    /** `cut`: the connection broke. `502`: nobody was there behind the balancer. Else the code that the service gave. */
    readonly kind: string,
    /** The response that had begun. */
    readonly responseId?: string,
    detail?: unknown,
  ) {
    super(`${kind}: ${JSON.stringify(detail)}`);
  }
}

/** What a client may answer by asking again, when a replica dies or the database is away. */
const RETRYABLE = new Set(['cut', '502', 'service_unavailable', 'session_locked', 'server_error']);

/** Whether asking again is all that a client has to do. */
export function isRetryable(error: unknown): error is TurnFault {
  return error instanceof TurnFault && RETRYABLE.has(error.kind);
}

/** A turn as a client words it. */
export interface TurnRequest {
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What was behind the balancer, or its own word that nobody was. */
interface ErrorAnswer {
  readonly error?: { readonly code?: string | null };
}

/** Asks for a turn in one JSON body. Rejects with TurnFault unless it is given. */
export async function sendJson(origin: string, request: TurnRequest): Promise<WireResponse> {
  const answer = await post(origin, request, false);
  return requireCompleted((await unlessCut(answer.json())) as WireResponse);
}

/** Asks for a stream of a turn, whose terminal event is all that counts. Rejects with TurnFault unless it is given. */
export async function sendStream(
  origin: string,
  request: TurnRequest,
  onEvent: (event: WireEvent) => void = () => undefined,
): Promise<WireResponse> {
  const { body } = await post(origin, request, true);
  requireRule(body !== null, 'a stream must have a body');
  let responseId: string | undefined;
  try {
    for await (const event of readEvents(body.pipeThrough(new TextDecoderStream()))) {
      onEvent(event);
      const response = event['response'] as WireResponse | undefined;
      responseId ??= response?.id;
      if (/^response\.(?:completed|failed|incomplete)$/.test(event.type)) return requireCompleted(response);
    }
  } catch (error) {
    throw isCut(error) ? new TurnFault('cut', responseId) : error;
  }
  throw new Error('a stream must have a terminal event');
}

/** Asks for a turn on a socket that is open. Rejects with TurnFault unless it is given. */
export async function sendFrame(socket: SocketClient, { body }: TurnRequest): Promise<WireResponse> {
  try {
    const { response } = await socket.turn(body);
    return requireCompleted(response);
  } catch (error) {
    if (error instanceof Refusal) throw toFault(error.status, error.body as ErrorAnswer);
    throw /socket was closed/.test(String(error)) ? new TurnFault('cut') : error;
  }
}

/** Opens a socket. Rejects with TurnFault where it is refused or the connection breaks. */
export async function openSocket(port: number): Promise<SocketClient> {
  try {
    return await SocketClient.open({ port });
  } catch (error) {
    const status = /Unexpected server response: (\d+)/.exec(String(error))?.[1];
    throw new TurnFault(status ?? 'cut', undefined, String(error));
  }
}

async function post(origin: string, { body, headers }: TurnRequest, stream: boolean): Promise<Response> {
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...body, stream }),
  };
  const answer = await unlessCut(fetch(`${origin}/v1/responses`, request));
  if (answer.status === 200) return answer;
  const text = await unlessCut(answer.text());
  // A balancer has words of its own.
  if (answer.status === 502) throw new TurnFault('502');
  const isPatient = answer.headers.get('retry-after') !== null;
  requireRule(isPatient || ![409, 503].includes(answer.status), `there must be a retry-after: ${text}`);
  throw toFault(answer.status, JSON.parse(text) as ErrorAnswer);
}

function toFault(status: number, answer: ErrorAnswer): TurnFault {
  return new TurnFault(answer.error?.code ?? String(status), undefined, answer);
}

function requireCompleted(response: WireResponse | undefined): WireResponse {
  if (response?.status === 'completed') return response;
  const { code } = (response?.['error'] ?? {}) as { readonly code?: string };
  throw new TurnFault(code ?? 'no response', response?.id, response);
}

async function unlessCut<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw isCut(error) ? new TurnFault('cut') : error;
  }
}

/** What `fetch` rejects with when a connection cannot be made or breaks: a TypeError, but one from outside of jest. */
function isCut(error: unknown): boolean {
  return /^TypeError: (?:fetch failed|terminated)$/.test(String(error));
}
