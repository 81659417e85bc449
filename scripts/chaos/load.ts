import type OpenAI from 'openai';
import type { Response } from 'openai/resources/responses/responses';

import { SeededRandom } from '../../src/simulator/seeded-random.ts';
import type { Fleet } from './fleet.ts';
import { insist, isMissing, isPassing, TurnFailed } from './insist.ts';
import {
  digestOf,
  digestOfResponse,
  type KeptConversation,
  type KeptResponse,
  type Ledger,
  modelOf,
  TURN_KINDS,
  type TurnKind,
} from './ledger.ts';
import { EventTrail, SocketClient, takeJson, takeStream, type TakeTurn, type TurnBody } from './turns.ts';

/** What a client of the load works with. */
export interface Ground {
  readonly fleet: Fleet;
  readonly ledger: Ledger;
  readonly random: SeededRandom;
  /** The beginning of all it says. */
  readonly name: string;
  /** Has the receiver of webhooks fail the next one that comes. */
  readonly failNextWebhook: () => void;
}

/** Clients of one kind, each of which does one thing after the other. */
type Work = (ground: Ground, round: number) => Promise<void>;

/** One turn after the other in chains, of which some lose their last response again. */
export function chainsOf(kind: 'JSON' | 'SSE' | 'WebSocket', { ledger }: Pick<Ground, 'ledger'>): Work {
  const socket = new SocketClient(ledger, kind);
  const take = { JSON: takeJson, SSE: takeStream(ledger, kind), WebSocket: socket.take }[kind];
  return async (ground, round) => {
    const { random } = ground;
    let last: KeptResponse | null = null;
    for (let turn = random.pickInteger(1, 5); turn > 0; turn -= 1)
      last = await converse(ground, { kind, take, said: `${ground.name} round ${round} turn ${turn}`, parent: last });
    if (last !== null && random.happens(20)) await deleteResponse(ground, last);
    // The next chain may go to another process.
    socket.hangUp();
  };
}

/** Takes a turn, after another one or in a conversation; again until it is acknowledged. */
async function converse(
  { fleet, ledger, random }: Ground,
  turn: {
    readonly kind: TurnKind;
    readonly take: TakeTurn;
    readonly said: string;
    readonly parent?: KeptResponse | null;
    readonly conversation?: KeptConversation;
  },
): Promise<KeptResponse> {
  const { kind, take, parent = null, conversation } = turn;
  const place =
    conversation === undefined ? { previous_response_id: parent?.id ?? null } : { conversation: conversation.id };
  let attempt = 0;
  const { response, said } = await insist(fleet, random, async (client) => {
    ledger.attempt(kind);
    attempt += 1;
    const text = `${turn.said} attempt ${attempt}.`;
    return { response: await take(client, { ...bodyOf(kind, text), ...place }), said: text };
  }).catch((error: unknown) => {
    if (isMissing(error)) ledger.report(kind, 'lost', parent?.id ?? conversation?.id ?? '', String(error));
    throw error;
  });
  const kept = ledger.keep(toKept(kind, said, response));
  if (parent !== null && kept.inputTokens <= parent.inputTokens)
    ledger.report(kind, 'lost', parent.id, `${kept.id} was made without it`);
  conversation?.items.push(said, ...response.output.map((item) => item.id ?? ''));
  return kept;
}

/** Background responses, whose streams are broken off and read on; some are cancelled. */
export const runInBackground: Work = async (ground, round) => {
  const { fleet, ledger, random } = ground;
  const kind = 'background';
  if (random.happens(10)) ground.failNextWebhook();
  const cancels = random.happens(20);
  const { trail, id, said } = await createInBackground(ground, round);
  let isCancelled = false;
  if (cancels) {
    const { status } = await insist(fleet, random, (client) => client.responses.cancel(id));
    isCancelled = status === 'cancelled';
  }
  const final = await readToEnd(ground, trail, id);
  trail.check('sse');
  const wanted = isCancelled ? 'cancelled' : 'completed';
  // One that is cancelled too late has ended before.
  if (final.status !== wanted && !(cancels && !isCancelled))
    ledger.report(kind, 'lost', id, `is ${String(final.status)}, not ${wanted}: ${JSON.stringify(final.error)}`);
  ledger.keep({ ...toKept(kind, said, final), events: digestOf(trail.events) });
};

/** Creates a background response, and leaves its stream after some events. */
async function createInBackground(
  { fleet, ledger, random, name }: Ground,
  round: number,
): Promise<{ readonly trail: EventTrail; readonly id: string; readonly said: string }> {
  const breakAt = random.pickInteger(1, 20);
  let attempt = 0;
  return insist(fleet, random, async (client) => {
    ledger.attempt('background');
    attempt += 1;
    const said = `${name} round ${round} attempt ${attempt}.`;
    const trail = new EventTrail(ledger, 'background');
    let id: string | undefined;
    try {
      const body = { ...bodyOf('background', said), background: true, stream: true } as const;
      for await (const event of await client.responses.create(body)) {
        trail.take(event);
        if (id === undefined && 'response' in event) {
          id = event.response.id;
          ledger.unfinished.add(id);
          ledger.acknowledge('background');
        }
        if (trail.events.length === breakAt) break;
      }
    } catch (error) {
      // From its first event on the response is there, and can be read on.
      if (id === undefined) throw error;
    }
    if (id === undefined) throw new TurnFailed('the stream broke off', true);
    return { trail, id, said };
  });
}

/** Reads a stream on wherever it breaks; its final response. */
async function readToEnd({ fleet, ledger, random }: Ground, trail: EventTrail, id: string): Promise<Response> {
  for (;;) {
    const { final, cursor } = trail;
    if (final !== null) return final;
    await insist(fleet, random, async (client) => {
      const options = { stream: true, ...(cursor === undefined ? {} : { starting_after: cursor }) } as const;
      const stream = await client.responses.retrieve(id, options);
      try {
        for await (const event of stream) trail.take(event);
      } catch (error) {
        if (!isPassing(error)) throw error;
      }
    }).catch((error: unknown) => {
      ledger.report('background', 'lost', id, `its stream cannot be read on: ${String(error)}`);
      throw error;
    });
  }
}

/** Conversations: turns of every transport, items that are added, and some that are deleted again. */
export function conversationsOf({ ledger }: Pick<Ground, 'ledger'>): Work {
  const kind = 'conversations';
  const socket = new SocketClient(ledger, kind);
  const transports = [takeJson, takeStream(ledger, kind), socket.take];
  return async (ground, round) => {
    const { fleet, random, name } = ground;
    const { id } = await insist(fleet, random, (client) => client.conversations.create({}));
    const conversation: KeptConversation = { id, items: [], deleted: new Set() };
    ledger.conversations.push(conversation);
    ledger.acknowledge(kind);
    for (let step = random.pickInteger(2, 6); step > 0; step -= 1) {
      const said = `${name} round ${round} step ${step}`;
      if (random.happens(25)) await addItem(ground, conversation, said);
      else await converse(ground, { kind, take: random.pick(transports), said, conversation });
    }
    socket.hangUp();
  };
}

/** Adds a message to a conversation, and deletes some of them again. */
async function addItem(ground: Ground, conversation: KeptConversation, name: string): Promise<void> {
  const { fleet, ledger, random } = ground;
  const { id } = conversation;
  let attempt = 0;
  const added = await insist(fleet, random, async (client) => {
    attempt += 1;
    const said = `${name} attempt ${attempt}.`;
    const { data } = await client.conversations.items.create(id, {
      items: [{ type: 'message', role: 'user', content: said }],
    });
    return { said, item: data[0]?.id ?? '' };
  });
  ledger.acknowledge('conversations');
  if (random.happens(60)) {
    conversation.items.push(added.said);
    return;
  }
  await deleteOnce(ground, (client) => client.conversations.items.delete(added.item, { conversation_id: id }));
  conversation.deleted.add(added.item);
  ledger.acknowledge('conversations');
}

async function deleteResponse(ground: Ground, kept: KeptResponse): Promise<void> {
  kept.fate = 'deleting';
  await deleteOnce(ground, (client) => client.responses.delete(kept.id));
  kept.fate = 'deleted';
  ground.ledger.acknowledge(kept.kind);
}

/** Deletes what is there. That it is not found any more acknowledges an earlier attempt, whose answer was lost. */
async function deleteOnce({ fleet, random }: Ground, action: (client: OpenAI) => Promise<unknown>): Promise<void> {
  let attempt = 0;
  await insist(fleet, random, async (client) => {
    attempt += 1;
    await action(client).catch((error: unknown) => {
      if (attempt === 1 || !isMissing(error)) throw error;
    });
  });
}

function bodyOf(kind: TurnKind, input: string): TurnBody {
  return { model: modelOf(kind), input, text: { verbosity: 'low' } };
}

function toKept(kind: TurnKind, said: string, response: Response): Omit<KeptResponse, 'fate'> {
  const { input_tokens: inputTokens = 0, total_tokens: tokens = 0 } = response.usage ?? {};
  return {
    kind,
    id: response.id,
    said,
    status: String(response.status),
    digest: digestOfResponse(response),
    inputTokens,
    tokens,
  };
}

/** All clients at once, until they are told to stop. */
export class Load {
  /** Resolves when every client has finished what it was doing; rejects never. */
  readonly ended: Promise<unknown>;
  private isOver = false;

  constructor(workers: number, seed: number, ground: Omit<Ground, 'random' | 'name'>) {
    const kinds = TURN_KINDS.flatMap((kind) => Array.from({ length: slotsOf(kind, workers) }, () => kind));
    this.ended = Promise.all(kinds.map((kind, client) => this.work(kind, client, seed, ground)));
  }

  /** Has the clients finish what they are doing, and nothing more. */
  stop(): void {
    this.isOver = true;
  }

  private async work(kind: TurnKind, client: number, seed: number, shared: Omit<Ground, 'random' | 'name'>) {
    const ground = { ...shared, random: new SeededRandom(seed, 'client', client), name: `Client ${client}` };
    const work =
      kind === 'background'
        ? runInBackground
        : kind === 'conversations'
          ? conversationsOf(ground)
          : chainsOf(kind, ground);
    for (let round = 1; !this.isOver; round += 1) {
      try {
        await work(ground, round);
      } catch (error) {
        // Nothing excuses this answer: a client of it would give up, as this one does.
        shared.ledger.report(kind, 'refused starts', `${ground.name} round ${round}`, String(error));
        return;
      }
    }
  }
}

/** How many clients of a kind there are. Background responses mostly wait. */
export function slotsOf(kind: TurnKind, workers: number): number {
  return Math.ceil(workers / TURN_KINDS.length) * (kind === 'background' ? 3 : 1);
}
