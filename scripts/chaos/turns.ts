import type OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';

import type * as Events from '../../src/testing/events/index.ts';
import { isPassingStatus, TurnFailed } from './insist.ts';
import type { Kind, Ledger } from './ledger.ts';

// The built checker; `antiphon/testing` would load the service as well.
const events = (await import(new URL('../../dist/testing/events/index.js', import.meta.url).href)) as typeof Events;

/** What a turn asks for. */
export type TurnBody = ResponseCreateParamsNonStreaming;

/** Takes a turn. Rejects unless its end was acknowledged; TurnFailed when there was an end, but no response. */
export type TakeTurn = (client: OpenAI, body: TurnBody) => Promise<Response>;

const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed']);

/** Whether an event ends its response. */
export function isTerminal(event: ResponseStreamEvent): event is ResponseStreamEvent & { readonly response: Response } {
  return TERMINAL.has(event.type);
}

/** The events of one stream as they come, in however many pieces; what is wrong with them is reported. */
export class EventTrail {
  readonly events: ResponseStreamEvent[] = [];
  private readonly ledger: Ledger;
  private readonly kind: Kind;

  constructor(ledger: Ledger, kind: Kind) {
    this.ledger = ledger;
    this.kind = kind;
  }

  /** The number after which to read on; undefined before the first event. */
  get cursor(): number | undefined {
    return this.events.at(-1)?.sequence_number;
  }

  /** The response as the last event shows it; null before the terminal event. */
  get final(): Response | null {
    const last = this.events.at(-1);
    return last !== undefined && isTerminal(last) ? last.response : null;
  }

  /** Takes the next event. */
  take(event: ResponseStreamEvent): void {
    // It belongs to the connection, and has no number.
    if ((event.type as string) === 'keepalive') return;
    const { sequence_number: number } = event;
    const next = (this.cursor ?? -1) + 1;
    if (number > next) this.report('gaps', `event ${number} after ${next - 1}`);
    if (number < next) this.report('doubled', `event ${number} after ${next - 1}`);
    this.events.push(event);
  }

  /** Reports what does not follow the protocol from the first to the last event. */
  check(transport: 'sse' | 'ws'): void {
    try {
      events.checkEventOrder(this.events, { transport });
    } catch (error) {
      this.report('gaps', String(error));
    }
  }

  private report(violation: 'gaps' | 'doubled', detail: string): void {
    const [first] = this.events;
    const id = first !== undefined && 'response' in first ? first.response.id : 'unknown';
    this.ledger.report(this.kind, violation, `stream of ${id}`, detail);
  }
}

/** A turn in one JSON body. */
export const takeJson: TakeTurn = async (client, body) => requireCompleted(await client.responses.create(body));

/** A turn over SSE, whose events are checked. */
export function takeStream(ledger: Ledger, kind: Kind): TakeTurn {
  return async (client, body) => {
    const trail = new EventTrail(ledger, kind);
    for await (const event of await client.responses.create({ ...body, stream: true })) trail.take(event);
    return finish(trail, 'sse');
  };
}

/** A client with one WebSocket at a time, which it gives up with its service, or when it is told to. */
export class SocketClient {
  private readonly ledger: Ledger;
  private readonly kind: Kind;
  private of: OpenAI | undefined;
  private socket: ResponsesWS | undefined;
  private frames: ReturnType<ResponsesWS['stream']> | undefined;

  constructor(ledger: Ledger, kind: Kind) {
    this.ledger = ledger;
    this.kind = kind;
  }

  /** A turn on the socket, whose events are checked. A socket is opened when there is none to this service. */
  readonly take: TakeTurn = async (client, body) => {
    try {
      return await this.turn(client, body);
    } catch (error) {
      this.hangUp();
      throw error;
    }
  };

  hangUp(): void {
    this.socket?.close();
    this.socket = undefined;
    this.frames = undefined;
  }

  private async turn(client: OpenAI, body: TurnBody): Promise<Response> {
    if (this.of !== client) this.hangUp();
    this.of = client;
    if (this.socket === undefined) {
      this.socket = new ResponsesWS(client);
      // The frames say so too.
      this.socket.on('error', () => undefined);
      this.frames = this.socket.stream();
    }
    this.socket.send({ type: 'response.create', ...body });
    const trail = new EventTrail(this.ledger, this.kind);
    while (trail.final === null) {
      const next = await this.frames?.next();
      if (next === undefined || next.done === true) throw new TurnFailed('the socket was closed', true);
      const frame = next.value;
      if (frame.type === 'close') throw new TurnFailed(`the socket was closed with ${frame.code}`, true);
      if (frame.type === 'error') throw toFailure(frame.error.error);
      if (frame.type === 'message') trail.take(frame.message as ResponseStreamEvent);
    }
    return finish(trail, 'ws');
  }
}

function finish(trail: EventTrail, transport: 'sse' | 'ws'): Response {
  const { final } = trail;
  // The SDK ends a stream quietly that breaks off.
  if (final === null) throw new TurnFailed('the stream broke off', true);
  trail.check(transport);
  return requireCompleted(final);
}

function requireCompleted(response: Response): Response {
  const { status, error, id } = response;
  if (status === 'completed') return response;
  // What failed is not stored as an answer; the SDKs do not ask again by themselves, but clients do.
  throw new TurnFailed(`${id} is ${String(status)}: ${JSON.stringify(error)}`, status === 'failed');
}

/** The failure of an error frame; without a frame, the socket did not open or broke. */
function toFailure(frame: object | undefined): TurnFailed {
  if (frame === undefined) return new TurnFailed('the socket broke', true);
  const { status = 500, error } = frame as { readonly status?: number; readonly error?: { readonly code?: string } };
  const isPassing = isPassingStatus(status) || error?.code === 'conversation_locked';
  return new TurnFailed(JSON.stringify(frame), isPassing);
}
