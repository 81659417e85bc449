import { afterEach, describe, expect } from '@jest/globals';

import { itWith } from '../support/on-path.js';
import { getResponse } from '../support/background/background-client.js';
import { inParallel } from '../support/conversations/in-parallel.js';
import { converse, faultsOf, makeConversations } from '../support/conversations/converse.js';
import { expectKept } from '../support/conversations/expect-kept.js';
import { startReplica } from '../support/conversations/replica.js';
import { startNginx } from '../support/nginx.js';
import { createTestDatabase } from '../support/postgres/test-database.js';
import { endProcesses, type ServiceProcess } from '../support/process-service.js';
import { MixedLoad } from '../support/rolling/mixed-load.js';
import { SocketClient, type SocketEnd } from '../support/socket-client.js';

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
