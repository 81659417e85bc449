import type { Sample } from '../measure.ts';
import type { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { toRequestBody } from '../traffic.ts';
import { CPU_PER_TURN } from './chained-turns.ts';

/** A short answer, so that the turn dominates rather than its text. */
const TRAFFIC = { deltas: 8, burst: 8 };

/** Most items of one request. */
const ITEMS_PER_REQUEST = 20;

/** Turns on a socket before those that are measured. */
const WARM_TURNS = 8;

/** Histories per round, each of which gets a few turns. */
const HISTORIES = 16;

/** Servers and counts of the turns. */
export interface ConversationSetting {
  readonly service: Server;
  readonly load: LoadGenerator;
  readonly turnsPerHistory: number;
}

/** How a request names its history. */
type History = { readonly conversation: string } | { readonly previous_response_id: string };

/** Rounds of turns over histories of a given number of items: conversations, or responses with as many items before them. */
export class ConversationTurns {
  private readonly setting: ConversationSetting;
  /** A conversation by its first length: to make a long one leaves garbage that would be measured. */
  private readonly kept = new Map<number, Promise<{ readonly conversation: string }>>();

  constructor(setting: ConversationSetting) {
    this.setting = setting;
  }

  /** Turns over HTTP in conversations, which grow by two items with each. */
  readonly httpInConversations = async (items: number): Promise<Sample> =>
    this.http(() => this.createConversation(items));

  /** Turns over HTTP that continue a response behind so many items. */
  readonly httpBehindResponses = async (items: number): Promise<Sample> => this.http(() => this.createResponse(items));

  /** Turns in one conversation, on a socket that has just made one in it. */
  readonly socketInConversation = async (items: number): Promise<Sample> => {
    const kept = this.kept.get(items) ?? this.createConversation(items);
    this.kept.set(items, kept);
    const history = await kept;
    await this.onSocket(history, 'none', WARM_TURNS);
    return this.measure(() => this.onSocket(history, 'none', this.socketTurns));
  };

  /** Turns that continue the one before, on a socket that has just made one behind so many items. */
  readonly socketBehindResponses = async (items: number): Promise<Sample> => {
    const { previous_response_id: responseId } = await this.createResponse(items);
    await this.onSocket({}, { responseId }, 1);
    await this.onSocket({}, 'the one before', WARM_TURNS);
    return this.measure(() => this.onSocket({}, 'the one before', this.socketTurns));
  };

  private get socketTurns(): number {
    return HISTORIES * this.setting.turnsPerHistory;
  }

  private async http(create: () => Promise<History>): Promise<Sample> {
    const { service, load, turnsPerHistory: turnsPerStream } = this.setting;
    const histories = await Promise.all(Array.from({ length: HISTORIES }, create));
    return this.measure(async () => {
      for (const history of histories) {
        const body = toBody(history);
        await load.run({ type: 'sse', url: `${service.origin}/v1/responses`, body, streams: 1, turnsPerStream });
      }
    });
  }

  private async onSocket(
    history: History | object,
    predecessor: 'none' | 'the one before' | { readonly responseId: string },
    turnsPerSocket: number,
  ): Promise<void> {
    const { service, load } = this.setting;
    const url = `${service.socketOrigin}/v1/responses`;
    await load.run({ type: 'socket', url, body: toBody(history), predecessor, sockets: 1, turnsPerSocket });
  }

  private async measure(run: () => Promise<void>): Promise<Sample> {
    const { service } = this.setting;
    const before = await service.cpuMicroseconds();
    await run();
    return { [CPU_PER_TURN]: ((await service.cpuMicroseconds()) - before) / this.socketTurns };
  }

  private async createConversation(length: number): Promise<{ readonly conversation: string }> {
    const items = messages(length);
    const { id } = await this.post('conversations', { items: items.slice(0, ITEMS_PER_REQUEST) });
    for (let added = ITEMS_PER_REQUEST; added < length; added += ITEMS_PER_REQUEST) {
      await this.post(`conversations/${id}/items`, { items: items.slice(added, added + ITEMS_PER_REQUEST) });
    }
    return { conversation: id };
  }

  /** Its answer is the last of the items. */
  private async createResponse(length: number): Promise<{ readonly previous_response_id: string }> {
    const body = JSON.parse(toBody({})) as object;
    const { id } = await this.post('responses', { ...body, input: messages(length - 1), stream: false });
    return { previous_response_id: id };
  }

  private async post(path: string, body: object): Promise<{ readonly id: string }> {
    const answer = await fetch(`${this.setting.service.origin}/v1/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`HTTP ${answer.status} for ${path}: ${await answer.text()}`);
    return (await answer.json()) as { readonly id: string };
  }
}

function toBody(history: object): string {
  return JSON.stringify({ ...(JSON.parse(toRequestBody('bench', TRAFFIC)) as object), ...history });
}

function messages(count: number): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({ role: 'user', content: `Message ${index} about the harbor.` }));
}
