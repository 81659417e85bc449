import type { IncomingHttpHeaders } from 'node:http';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ApiError, asTenant, Authenticator, type Tenant } from '../../src/index.js';
import { ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { HeldTurns } from '../support/held-turns.js';

const ALPHA = { authorization: 'Bearer sk-alpha' };

/** Keys that a test gives, takes back, and hands on. */
class ChangingKeys extends Authenticator {
  readonly tenants = new Map<string, Tenant>();
  /** What the check itself fails with. */
  broken: Error | null = null;

  override authenticate({ authorization = '' }: IncomingHttpHeaders): Tenant {
    if (this.broken !== null) throw this.broken;
    const tenant = this.tenants.get(authorization);
    if (tenant === undefined) throw ApiError.of('invalid_api_key', 'Incorrect API key provided.');
    return tenant;
  }
}

describe('the key of a connection', () => {
  const keys = new ChangingKeys();
  const service = useService({ providers: [ScriptedProvider], overrides: [[Authenticator, keys]] });
  let client: SocketClient;

  const give = (tenant: string): void => void keys.tenants.set(ALPHA.authorization, asTenant(tenant));
  const revoke = (): void => void keys.tenants.delete(ALPHA.authorization);

  beforeEach(async () => {
    keys.broken = null;
    give('alpha');
    client = await SocketClient.open(service, { headers: ALPHA });
  });

  afterEach(() => client[Symbol.asyncDispose]());

  const expectUnauthorized = (frame: WireEvent): void => {
    expect(frame).toMatchObject({
      type: 'error',
      status: 401,
      error: {
        type: 'invalid_request_error',
        code: 'invalid_api_key',
        param: null,
        message: expect.stringMatching(/./) as unknown,
      },
    });
    expect(JSON.stringify(frame)).not.toContain('sk-alpha');
  };

  it('the key of a connection is checked again at the next turn: revoked, the running one ends well, and back it works again', async () => {
    const held = new HeldTurns(service.provider).hold();
    client.create({ input: 'running' });
    await held.whenBegun(1);
    revoke();
    const refused = await client.refusal({ stream_id: 'b', input: 'refused' });
    expectUnauthorized(refused);
    expect(refused.stream_id).toBe('b');
    held.letGo('running');
    expect((await client.finish()).response).toMatchObject({ status: 'completed' });
    expectUnauthorized(await client.refusal({ input: 'refused as well' }));
    expect(held.begun).toEqual(['running']);
    give('alpha');
    expect((await client.turn({ input: 'again' })).response.status).toBe('completed');
    expect((await client.turn({ stream_id: 'b', input: 'again' })).response.status).toBe('completed');
  });

  it('the key of a connection is checked when a turn begins, not when it is queued', async () => {
    const held = new HeldTurns(service.provider).hold(2);
    for (const input of ['first', 'second', 'third']) client.create({ stream_id: 'a', input });
    await held.whenBegun(1);
    await client.roundTrip();
    revoke();
    held.letGo('first');
    expect((await client.finish('a')).response.status).toBe('completed');
    // Both that waited, in their order.
    expectUnauthorized(await client.nextOf('a'));
    expectUnauthorized(await client.nextOf('a'));
    give('alpha');
    held.letGo('fourth');
    expect((await client.turn({ stream_id: 'a', input: 'fourth' })).response.status).toBe('completed');
    expect(held.begun).toEqual(['first', 'fourth']);
  });

  it('a changed key of a connection does not open what is of its new tenant, or of its old one', async () => {
    const { response } = await client.turn({ input: 'mine', store: true });
    give('gamma');
    const refused = await client.refusal({ input: 'whose?', previous_response_id: response.id });
    expectUnauthorized(refused);
    expectUnauthorized(await client.refusal({ stream_id: 'b', input: 'whose?', store: true }));
    await using other = await SocketClient.open(service, { headers: ALPHA });
    const lost = await other.refusal({ input: 'mine?', previous_response_id: response.id });
    expect(lost).toMatchObject({ status: 400, error: { code: 'previous_response_not_found' } });
    // The old connection is still its first tenant's.
    const answer = await fetch(`${service.baseURL}/connections`, { headers: ALPHA });
    expect(((await answer.json()) as { readonly data: readonly unknown[] }).data).toHaveLength(1);
    give('alpha');
    expect((await client.turn({ input: 'mine', previous_response_id: response.id })).response.status).toBe('completed');
  });

  it('the key of a connection is refused in the words of what checks it', async () => {
    keys.broken = new ApiError(403, 'invalid_request_error', 'suspended', null, 'Your account is suspended.', {
      'retry-after': '60',
    });
    expect(await client.refusal({ input: 'Hi' })).toMatchObject({
      status: 403,
      error: { code: 'suspended', message: 'Your account is suspended.', headers: { 'retry-after': '60' } },
    });
    keys.broken = new Error('the database of keys at 10.0.0.7 is down');
    const frame = await client.refusal({ input: 'Hi' });
    expect(frame).toMatchObject({ status: 500, error: { type: 'server_error', code: 'processing_error' } });
    expect(JSON.stringify(frame)).not.toContain('10.0.0.7');
    keys.broken = null;
    expect((await client.turn({ input: 'Hi' })).response.status).toBe('completed');
  });

  it('the key of a connection is not needed to answer what is no turn', async () => {
    revoke();
    client.send({ type: 'no.such.event' });
    expect(await client.next()).toMatchObject({ type: 'error', error: { code: 'unknown_event_type' } });
    await client.roundTrip();
  });
});
