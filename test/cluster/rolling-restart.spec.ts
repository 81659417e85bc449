import { afterEach, describe, expect } from '@jest/globals';

import { createResponse, getResponse, readOn } from '../support/background/background-client.js';
import { Conversation, converse, faultsOf, makeConversations, MANNERS } from './conversations/conversation.js';
import { expectKept } from './conversations/expect-kept.js';
import { inParallel } from '../support/in-parallel.js';
import { startNginx } from './nginx.js';
import { itWith } from '../support/tests-with-programs.js';
import { createTestDatabase } from '../support/postgres/test-database.js';
import { endProcesses, type ServiceProcess, startReplica } from '../support/process-service.js';
import { RawClient } from '../support/raw-client.js';
import { SocketClient, type SocketEnd } from '../support/socket-client.js';

/** A background response that was acknowledged. */
interface Acknowledged {
  readonly id: string;
  /** Resolves with its whole stream when it has ended. */
  readonly stream: Promise<string>;
}

/** Clients that each lead this many conversations of every manner at a time, and create background responses. */
const CLIENTS_PER_MANNER = 3;
const BACKGROUND_CLIENTS = 3;
const TURNS_PER_CONVERSATION = 3;
/** Background responses that a client has running before it creates another one. */
const MOST_RUNNING = 4;

/** Mixed load on a balancer until it is told to stop: JSON, streams, sockets, with and without sessions, and background. */
class MixedLoad {
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
      for (let turn = 1; turn <= TURNS_PER_CONVERSATION; turn += 1) {
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

/** Holds sockets open through a balancer, each opened again when it is closed, until it is told to stop. */
class HeldSockets {
  /** How sockets ended that this did not close itself. */
  readonly ends: SocketEnd[] = [];
  /** Upgrades that were refused or cut. */
  refused = 0;
  private readonly open = new Set<SocketClient>();
  private state: 'holding' | 'over' = 'holding';
  private readonly loops: readonly Promise<void>[];

  constructor(balancer: { readonly port: number }, count: number) {
    this.loops = Array.from({ length: count }, () => this.hold(balancer));
  }

  /** Closes all of them. Resolves when they are gone. */
  async close(): Promise<void> {
    this.state = 'over';
    for (const { socket } of this.open) socket.close();
    await Promise.all(this.loops);
  }

  private async hold(balancer: { readonly port: number }): Promise<void> {
    while (this.isHolding()) {
      let client: SocketClient;
      try {
        client = await SocketClient.open(balancer);
      } catch {
        this.refused += 1;
        continue;
      }
      this.open.add(client);
      if (!this.isHolding()) client.socket.close();
      const end = await client.closed;
      this.open.delete(client);
      if (this.isHolding()) this.ends.push(end);
    }
  }

  /** A method: it changes while `hold` waits, which a property's type would not say. */
  private isHolding(): boolean {
    return this.state === 'holding';
  }
}

/** Turns that clients are given before, between and after the restarts. */
const TURNS = 100;
const HELD = 20;
/** What a client on a socket may see: its socket is closed, or the replica refuses the turn or the upgrade. */
const OF_SOCKETS = ['cut', 'service_unavailable', '503', '502'];

afterEach(endProcesses);

describe('two replicas behind nginx as in deploy/nginx', () => {
  itWith('nginx', 'of which one is dead are no outage: every request succeeds', async (program) => {
    await using database = await createTestDatabase();
    const environment = { DATABASE_URL: database.url };
    const [victim, survivor] = await Promise.all([startReplica(environment), startReplica(environment)]);
    await using nginx = await startNginx(program, [victim.port, survivor.port]);
    victim.kill('SIGKILL');
    await victim.exited;
    const conversations = makeConversations('survivor', 60);
    await converse(nginx, conversations);
    expect(faultsOf(conversations)).toEqual([]);
    await expectKept(nginx.origin, conversations.slice(0, 12));
  });

  itWith(
    'nginx',
    'replicas are restarted one after the other under load: nothing that was accepted is lost',
    async (program) => {
      await using database = await createTestDatabase();
      const environment = {
        DATABASE_URL: database.url,
        SIMULATOR_LATENCY: '20/2',
        SIMULATOR_BACKGROUND_LATENCY: '50/4',
      };
      const replicas = await Promise.all([startReplica(environment), startReplica(environment)]);
      await using nginx = await startNginx(program, [replicas[0].port, replicas[1].port]);
      const load = new MixedLoad(nginx);
      const held = new HeldSockets(nginx, HELD);

      const current: ServiceProcess[] = [];
      for (const replica of replicas) {
        await load.turns(TURNS);
        replica.kill('SIGTERM');
        const { code, signal } = await replica.exited;
        expect({ code, signal }).toEqual({ code: 0, signal: null });
        // On the one that is left.
        await load.turns(TURNS);
        current.push(await startReplica(environment, replica.port));
      }
      await load.turns(TURNS);
      await load.stop();
      await held.close();

      const { conversations, background } = load;
      const overHttp = conversations.filter(({ manner }) => manner.transport !== 'ws');
      const onSockets = conversations.filter(({ manner }) => manner.transport === 'ws');
      expect(faultsOf(overHttp)).toEqual([]);
      expect(load.refusals).toEqual([]);
      for (const kind of faultsOf(onSockets)) expect(OF_SOCKETS).toContain(kind);
      expect(held.ends.length).toBeGreaterThanOrEqual(HELD);
      expect(new Set(held.ends.map(({ code }) => code))).toEqual(new Set([1012]));

      const [one] = current as [ServiceProcess];
      await inParallel(background, 8, async ({ id }) => {
        expect(await getResponse(one, id)).toMatchObject({ id, status: 'completed' });
      });
      await inParallel(
        conversations.flatMap(({ exchanges }) => exchanges),
        8,
        async ({ response }) =>
          expect(await getResponse(one, response.id)).toMatchObject({ id: response.id, status: 'completed' }),
      );
      await expectKept(nginx.origin, conversations.slice(-12));
      const figures = {
        turnsOverHttp: overHttp.flatMap(({ exchanges }) => exchanges).length,
        turnsOnSockets: onSockets.flatMap(({ exchanges }) => exchanges).length,
        backgroundResponses: background.length,
        lost: 0,
        failedOverHttp: faultsOf(overHttp).length,
        askedAgainOnSockets: faultsOf(onSockets).length,
        socketsClosed1012: held.ends.length,
      };
      process.stdout.write(`Rolling restart: ${JSON.stringify(figures)}\n`);
    },
  );
});
