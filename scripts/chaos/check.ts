import type OpenAI from 'openai';
import type { ConversationItem } from 'openai/resources/conversations/items';

import type { SeededRandom } from '../../src/simulator/seeded-random.ts';
import { inParallel } from '../../test/support/in-parallel.ts';
import type { Fleet } from './fleet.ts';
import { insist, isMissing } from './insist.ts';
import { digestOf, digestOfResponse, type KeptConversation, type KeptResponse, type Ledger } from './ledger.ts';
import type { Webhooks } from './webhooks.ts';

/** Things looked at at a time. */
const WIDTH = 8;

/** Compares what the service shows with what was acknowledged. */
export class Checker {
  private readonly fleet: Fleet;
  private readonly ledger: Ledger;
  private readonly random: SeededRandom;

  constructor(fleet: Fleet, ledger: Ledger, random: SeededRandom) {
    this.fleet = fleet;
    this.ledger = ledger;
    this.random = random;
  }

  /** Looks at some responses and one conversation, while others are made. */
  async checkSome(count: number): Promise<void> {
    const { ledger, random } = this;
    const responses = [...ledger.responses.values()];
    if (responses.length === 0) return;
    const some = Array.from({ length: count }, () => random.pick(responses));
    await inParallel(some, WIDTH, (response) => this.checkResponse(response));
    if (ledger.conversations.length > 0) await this.checkConversation(random.pick(ledger.conversations));
  }

  /** Looks at everything, once nothing changes any more. */
  async checkAll(webhooks: Webhooks): Promise<void> {
    const { ledger } = this;
    await inParallel([...ledger.responses.values()], WIDTH, (response) => this.checkResponse(response));
    await inParallel(ledger.conversations, WIDTH, (conversation) => this.checkConversation(conversation));
    for (const response of ledger.responses.values())
      if (response.kind === 'background') this.checkWebhook(webhooks, response);
    for (const delivery of webhooks.unsigned) ledger.report('webhooks', 'lost', delivery, 'its signature is not valid');
  }

  private async checkResponse(kept: KeptResponse): Promise<void> {
    const { kind, id, said } = kept;
    const { fate } = kept;
    const lost = (detail: string): void => this.ledger.report(kind, 'lost', id, detail);
    try {
      const stored = await this.ask((client) => client.responses.retrieve(id));
      if (fate === 'deleted') lost('is there again after its deletion');
      if (fate !== 'kept') return;
      if (digestOfResponse(stored) !== kept.digest) lost('is not what was acknowledged');
      const { data } = await this.ask((client) => client.responses.inputItems.list(id, { limit: 100 }));
      const times = data.filter((item) => textOf(item) === said).length;
      if (times === 0) lost('has lost its input');
      if (times > 1) this.ledger.report(kind, 'doubled', id, `has its input ${times} times`);
      if (kept.events !== undefined) await this.checkEvents(kept);
    } catch (error) {
      // It may have been deleted while it was looked at.
      if (kept.fate === 'kept' || !isMissing(error)) lost(String(error));
    }
  }

  /** The stream that every reader gets is the one that the client has put together from its pieces. */
  private async checkEvents({ id, events }: KeptResponse): Promise<void> {
    const read = await this.ask(async (client) => {
      const seen: unknown[] = [];
      for await (const event of await client.responses.retrieve(id, { stream: true }))
        if ((event.type as string) !== 'keepalive') seen.push(event);
      return seen;
    });
    if (digestOf(read) !== events)
      this.ledger.report('background', 'gaps', id, 'its stream is another one when it is read again');
  }

  private async checkConversation(conversation: KeptConversation): Promise<void> {
    const { ledger } = this;
    const { id } = conversation;
    // It may grow while it is read.
    const items = [...conversation.items];
    const deleted = new Set(conversation.deleted);
    const report = (violation: 'lost' | 'doubled', detail: string): void =>
      ledger.report('conversations', violation, id, detail);
    let stored: readonly ConversationItem[];
    try {
      stored = await this.ask(async (client) => {
        const all: ConversationItem[] = [];
        for await (const item of client.conversations.items.list(id, { order: 'asc', limit: 100 })) all.push(item);
        return all;
      });
    } catch (error) {
      report('lost', String(error));
      return;
    }
    // What was asked for and not acknowledged may be there too, but no more than once.
    const names = stored.flatMap((item) => textOf(item) ?? []);
    const ids = stored.map((item) => item.id ?? '');
    for (const list of [names, ids]) {
      const repeated = list.find((name, index) => list.indexOf(name) !== index);
      if (repeated !== undefined) report('doubled', `has '${repeated}' twice`);
    }
    for (const item of ids) if (deleted.has(item)) report('lost', `${item} is there again after its deletion`);
    const expected = new Set(items);
    const kept = [...new Set(stored.map((item) => textOf(item) ?? item.id ?? ''))].filter((name) => expected.has(name));
    const missing = items.find((name) => !kept.includes(name));
    if (missing !== undefined) report('lost', `has lost '${missing}'`);
    else if (kept.join('\n') !== items.join('\n')) report('lost', 'has lost the order of its items');
  }

  private checkWebhook(webhooks: Webhooks, { id, status }: KeptResponse): void {
    const { ledger } = this;
    const announced = webhooks.announced.get(id);
    if (announced === undefined) {
      ledger.report('webhooks', 'lost', id, 'its end was not announced');
      return;
    }
    ledger.acknowledge('webhooks');
    const { webhookIds, types } = announced;
    if (webhookIds.size > 1)
      ledger.report('webhooks', 'doubled', id, `came with the ids ${[...webhookIds].join(', ')}`);
    for (const type of types)
      if (type !== `response.${status}`) ledger.report('webhooks', 'lost', id, `came as ${type}, but is ${status}`);
  }

  private ask<T>(action: (client: OpenAI) => Promise<T>): Promise<T> {
    return insist(this.fleet, this.random, action);
  }
}

/** The text of what a client said; undefined for everything else. */
function textOf(item: object): string | undefined {
  const { role, content } = item as {
    readonly role?: string;
    readonly content?: readonly { readonly text?: string }[];
  };
  return role === 'user' ? content?.[0]?.text : undefined;
}
