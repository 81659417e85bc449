import { expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { type StateBackend, StoreUnavailableError } from '../../src/state/index.js';
import { newTenant, recordOf, TTL_MS } from '../../src/testing/state/records.js';
import { whenStill } from '../support/chat-upstream/when-still.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { whenServed } from './when-served.js';

/** A backend that reaches its server through a proxy. */
export interface ProxiedBackend<Backend> {
  readonly proxy: TcpProxy;
  readonly backend: Backend;
  /** Opens another one, which waits for an answer so long at most, ms. */
  readonly open: (patienceMs: number) => Promise<Backend>;
}

/** Something that is asked of a backend. */
export interface BackendCall<Backend> {
  readonly name: string;
  readonly call: (backend: Backend, tenant: Tenant) => Promise<unknown>;
}

/** Resolves as soon as the backend can serve. */
export function ready({ responses }: StateBackend): Promise<void> {
  return whenServed(() => responses.check());
}

/**
 * What backends have in common whose server goes away. `current` gives that of the running test, `outcomeOf` how a call ends when the server
 * is there.
 */
export function testOutages<Backend extends StateBackend & { stop(): Promise<void> }>(
  server: string,
  current: () => ProxiedBackend<Backend>,
  calls: readonly BackendCall<Backend>[],
  outcomeOf: (call: Promise<unknown>) => Promise<unknown> = async (call) => call,
): void {
  const tenant = newTenant();

  it.each(calls)(
    `a backend whose ${server} goes away says of $name that it is not available, and comes back`,
    async ({ call }) => {
      const { backend, proxy } = current();
      await ready(backend);
      await proxy.cut();
      const failure: unknown = await call(backend, tenant).catch((error: unknown) => error);
      await expect(call(backend, tenant)).rejects.toBeInstanceOf(StoreUnavailableError);
      await proxy.restore();
      expect(failure).toBeInstanceOf(StoreUnavailableError);
      const refusal = (failure as StoreUnavailableError).toApiError();
      expect(refusal).toMatchObject({ status: 503, code: 'service_unavailable' });
      await ready(backend);
      await outcomeOf(call(backend, newTenant()));
    },
  );

  it(`a backend whose ${server} goes away knows from then on that nothing can be saved, until it comes back`, async () => {
    const { backend, proxy } = current();
    await ready(backend);
    await backend.responses.expectSave();
    await proxy.cut();
    // Each of a pool's connections hears of it by itself.
    await whenStill(() => 0);
    await expect(backend.responses.check()).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(backend.responses.expectSave()).rejects.toBeInstanceOf(StoreUnavailableError);
    await proxy.restore();
    await ready(backend);
    await backend.responses.expectSave();
  });

  it(`a backend whose ${server} goes away gives up on a network that is silent, and comes back`, async () => {
    const { open, proxy } = current();
    const { responses } = await open(2000);
    // On an open connection, and on new ones.
    await whenServed(() => responses.check());
    proxy.stall();
    await Promise.all(
      [responses.get(tenant, 'a'), responses.save(tenant, recordOf('a')), responses.check()].map((call) =>
        expect(call).rejects.toBeInstanceOf(StoreUnavailableError),
      ),
    );
    await proxy.restore();
    const record = recordOf('later', { expiresAt: Date.now() + TTL_MS });
    await whenServed(async () => responses.save(tenant, record));
    expect(await whenServed(() => responses.get(tenant, 'later'))).toBeDefined();
  });

  it(`a backend whose ${server} answers no more stops all the same, and refuses what waits for an answer`, async () => {
    const { open, proxy } = current();
    const patient = await open(600_000);
    await ready(patient);
    proxy.stall();
    const waiting = expect(patient.responses.get(tenant, 'a')).rejects.toBeInstanceOf(StoreUnavailableError);
    await patient.stop();
    await waiting;
    await proxy.restore();
  });
}
