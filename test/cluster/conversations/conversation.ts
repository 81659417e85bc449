import type { SocketClient } from '../../support/socket-client.js';
import type { WireResponse } from '../../support/transport.js';
import {
  isRetryable,
  openSocket,
  sendFrame,
  sendJson,
  sendStream,
  type TurnFault,
  type TurnRequest,
} from './send-turn.js';
import { inParallel } from '../../support/in-parallel.js';

/** How a conversation is led, and whether it names its session. */
export interface Manner {
  readonly transport: 'json' | 'sse' | 'ws';
  readonly namesSession: boolean;
}

/** Every manner there is. */
export const MANNERS: readonly Manner[] = (['json', 'sse', 'ws'] as const).flatMap((transport) => [
  { transport, namesSession: false },
  { transport, namesSession: true },
]);

/** A turn that was acknowledged: its terminal event or its JSON body has come. */
export interface Exchange {
  readonly said: string;
  readonly response: WireResponse;
}

/** How a client asks again. */
export interface Patience {
  /** What it waits for before it does; by default nothing. */
  readonly beforeRetry?: () => Promise<unknown>;
}

/** Turns after which a socket is given up, so that its conversation goes on wherever the next one ends. */
const TURNS_OF_SOCKET = 2;
/** More than any lock takes to expire. */
const MOST_ATTEMPTS = 200;

/** A client that leads one conversation through a balancer and asks again when it is told to or cut off. */
export class Conversation {
  readonly exchanges: Exchange[] = [];
  readonly faults: TurnFault[] = [];
  private socket: SocketClient | undefined;
  private turnsOfSocket = 0;

  constructor(
    readonly name: string,
    readonly manner: Manner,
  ) {}

  /** The session that it names, if it does. */
  get session(): string | undefined {
    return this.manner.namesSession ? `session-${this.name}` : undefined;
  }

  /** Takes one turn, and again until it is acknowledged. Rejects when a fault is none that a client may ask again after. */
  async say(balancer: { readonly port: number }, said: string, { beforeRetry = atOnce }: Patience = {}): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const response = await this.send(balancer.port, this.request(said));
        this.exchanges.push({ said, response });
        return;
      } catch (error) {
        await this.hangUp();
        if (!isRetryable(error)) throw new Error(`conversation ${this.name} cannot go on`, { cause: error });
        if (attempt === MOST_ATTEMPTS) throw new Error(`conversation ${this.name} gave up`, { cause: error });
        this.faults.push(error);
        await beforeRetry();
      }
    }
  }

  /** The next turn, as it is sent over HTTP or in a frame. */
  request(said: string): TurnRequest {
    const { session, exchanges } = this;
    const body = { model: 'gpt-4.1', input: said, text: { verbosity: 'low' } };
    const parent = { previous_response_id: exchanges.at(-1)?.response.id ?? null };
    if (session === undefined) return { body: { ...body, ...parent } };
    if (this.manner.transport === 'ws') return { body: { ...body, ...parent, session_id: session } };
    return { body: { ...body, ...parent }, headers: { 'x-session-id': session } };
  }

  /** Closes its socket, if it has one; the next turn opens another. */
  async hangUp(): Promise<void> {
    await this.socket?.[Symbol.asyncDispose]();
    this.socket = undefined;
    this.turnsOfSocket = 0;
  }

  private async send(port: number, request: TurnRequest): Promise<WireResponse> {
    const origin = `http://127.0.0.1:${port}`;
    switch (this.manner.transport) {
      case 'json':
        return sendJson(origin, request);
      case 'sse':
        return sendStream(origin, request);
      case 'ws':
        if (this.turnsOfSocket === TURNS_OF_SOCKET) await this.hangUp();
        this.socket ??= await openSocket(port);
        this.turnsOfSocket += 1;
        return sendFrame(this.socket, request);
    }
  }
}

function atOnce(): Promise<void> {
  return Promise.resolve();
}

/** How conversations are led. */
export interface ConverseOptions extends Patience {
  readonly turns?: number;
  /** Called for every turn that was acknowledged. */
  readonly onTurn?: () => void;
}

/** Turns of a conversation where it is not said how many. */
export const TURNS = 3;
/** Conversations that are led at a time. */
const WIDTH = 20;

/** New conversations in every manner. */
export function makeConversations(name: string, count: number): readonly Conversation[] {
  const manners = Array.from({ length: Math.ceil(count / MANNERS.length) }, () => MANNERS).flat();
  return manners.slice(0, count).map((manner, index) => new Conversation(`${name}-${index}`, manner));
}

/** Has each of them take turns through a balancer, or with one service. */
export function converse(
  balancer: { readonly port: number },
  conversations: readonly Conversation[],
  { turns = TURNS, onTurn = (): void => undefined, ...patience }: ConverseOptions = {},
): Promise<void> {
  return inParallel(conversations, WIDTH, async (conversation) => {
    for (let turn = 1; turn <= turns; turn += 1) {
      await conversation.say(balancer, `This is turn ${turn} of ${conversation.name}.`, patience);
      onTurn();
    }
    await conversation.hangUp();
  });
}

/** What the clients saw instead of answers, by kind. */
export function faultsOf(conversations: readonly Conversation[]): readonly string[] {
  return conversations.flatMap(({ faults }) => faults.map(({ kind }) => kind));
}
