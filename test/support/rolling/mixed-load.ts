import { createResponse, readOn } from '../background/background-client.js';
import { Conversation, MANNERS } from '../conversations/conversation.js';
import { RawClient } from '../raw-client.js';

/** A background response that was acknowledged. */
export interface Acknowledged {
  readonly id: string;
  /** Resolves with its whole stream when it has ended. */
  readonly stream: Promise<string>;
}

/** Clients that each lead this many conversations of every manner at a time, and create background responses. */
const CLIENTS_PER_MANNER = 3;
const BACKGROUND_CLIENTS = 3;
const TURNS = 3;
/** Background responses that a client has running before it creates another one. */
const MOST_RUNNING = 4;

/** Mixed load on a balancer until it is told to stop: JSON, streams, sockets, with and without sessions, and background. */
export class MixedLoad {
  readonly conversations: Conversation[] = [];
  readonly background: Acknowledged[] = [];
  /** Answers to creators of background responses that acknowledged nothing. */
  readonly refusals: string[] = [];
  private isOver = false;
  private acknowledged = 0;
  private readonly waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  private readonly loops: Promise<unknown>;

  constructor(private readonly balancer: { readonly port: number }) {
    const clients = MANNERS.flatMap((manner) => Array.from({ length: CLIENTS_PER_MANNER }, () => manner));
    this.loops = Promise.all([
      ...clients.map((manner, client) => this.converse(manner, client)),
      ...Array.from({ length: BACKGROUND_CLIENTS }, () => this.create()),
    ]);
    // Thrown by `stop`.
    this.loops.catch(() => undefined);
  }

  /** Resolves when so many more turns have been acknowledged. Rejects when a client met a fault that it cannot go on after. */
  async turns(count: number): Promise<void> {
    const reached = new Promise<void>((resolve) => {
      this.waiting.push({ count: this.acknowledged + count, resolve });
    });
    await Promise.race([reached, this.loops]);
  }

  /** Resolves when every client has finished what it was doing, and every background response has ended. */
  async stop(): Promise<void> {
    this.isOver = true;
    await this.loops;
    await Promise.all(this.background.map(({ stream }) => stream));
  }

  private async converse(manner: Conversation['manner'], client: number): Promise<void> {
    for (let round = 0; !this.isOver; round += 1) {
      const conversation = new Conversation(`mixed-${client}-${round}`, manner);
      this.conversations.push(conversation);
      for (let turn = 1; turn <= TURNS; turn += 1) {
        await conversation.say(this.balancer, `This is turn ${turn} of ${conversation.name}.`);
        this.count();
      }
      await conversation.hangUp();
    }
  }

  private async create(): Promise<void> {
    const running = new Set<Promise<unknown>>();
    const client = new RawClient(this.balancer.port);
    while (!this.isOver) {
      let id: string;
      try {
        ({ id } = await createResponse({ client }, { input: 'Later.' }));
      } catch (error) {
        this.refusals.push(String(error));
        continue;
      }
      const stream = readOn(this.balancer, id);
      this.background.push({ id, stream });
      this.count();
      const ending: Promise<unknown> = stream.then(() => running.delete(ending));
      running.add(ending);
      if (running.size >= MOST_RUNNING) await Promise.race(running);
    }
    client.close();
  }

  private count(): void {
    this.acknowledged += 1;
    for (const { count, resolve } of this.waiting) if (this.acknowledged >= count) resolve();
  }
}
