import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { SystemClock } from '../../src/index.js';
import { WebhookClient } from '../../src/operations/webhooks/webhook-client.js';
import { WebhookReceiver } from '../support/webhooks/webhook-receiver.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const EVENT = { id: 'evt_1', type: 'response.completed', createdAt: 1, responseId: 'resp_1', tenant: 'acme' } as const;

let receiver: WebhookReceiver;

beforeEach(async () => {
  receiver = await WebhookReceiver.open();
});

afterEach(async () => {
  await receiver[Symbol.asyncDispose]();
});

/** A resolver that has one list of addresses per question, the last one for all further questions. */
function resolver(...answers: readonly (readonly string[])[]): LookupFunction & { readonly asked: string[] } {
  const asked: string[] = [];
  const lookup: LookupFunction = (host, _options, callback) => {
    const addresses = answers[Math.min(asked.push(host), answers.length) - 1] ?? [];
    callback(
      null,
      addresses.map((address): LookupAddress => ({ address, family: isIP(address) })),
    );
  };
  return Object.assign(lookup, { asked });
}

/** Sends an event to a host that the resolver knows, on the port of the receiver. Returns the status. */
async function send(url: string, lookup: LookupFunction): Promise<number> {
  const environment = { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET, WEBHOOK_TIMEOUT_MS: 600_000 };
  const client = new WebhookClient(environment, new SystemClock(), lookup);
  try {
    return await client.send(EVENT, new AbortController().signal);
  } finally {
    await client.close();
  }
}

describe('a name in WEBHOOK_URL', () => {
  it.each([
    ['loopback', '127.0.0.1'],
    ['all of loopback', '127.255.0.9'],
    ['unspecified', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['carrier-grade NAT', '100.127.255.255'],
    ['link-local', '169.254.169.254'],
    ['protocol assignments', '192.0.0.8'],
    ['documentation', '203.0.113.7'],
    ['benchmarks', '198.19.0.1'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['loopback', '::1'],
    ['unspecified', '::'],
    ['mapped loopback', '::ffff:127.0.0.1'],
    ['mapped private', '::ffff:10.0.0.1'],
    ['mapped private, in hex', '::ffff:a00:1'],
    ['compatible private', '::10.0.0.1'],
    ['NAT64 of loopback', '64:ff9b::7f00:1'],
    ['NAT64 of private', '64:ff9b::10.0.0.1'],
    ['NAT64 of link-local', '64:ff9b::169.254.169.254'],
    ['local NAT64', '64:ff9b:1::8.8.8.8'],
    ['6to4 of private', '2002:a00:1::1'],
    ['Teredo', '2001:0:53aa:64c::1'],
    ['unique local', 'fd00::1'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%lo'],
    ['public with a zone', '2606:4700::1%lo'],
    ['former site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['documentation', '2001:db8::1'],
    ['discard', '100::1'],
    ['segment routing', '5f00::1'],
  ])('a webhook is not sent to an address that is not public: %s %s', async (_kind, address) => {
    const lookup = resolver([address]);
    await expect(send(`https://hooks.example.com:${receiver.port}/`, lookup)).rejects.toThrow(
      'hooks.example.com has no public address',
    );
    expect([lookup.asked, receiver.connections]).toEqual([['hooks.example.com'], 0]);
  });

  it('a webhook is not sent to the private ones among the addresses of its name, which is asked for with each connection', async () => {
    // The public one is a port of this machine no more than it is an endpoint: whatever becomes of it, the receiver has no part.
    const lookup = resolver(['127.0.0.1', '10.0.0.1'], ['::1']);
    const url = `https://hooks.example.com:${receiver.port}/`;
    for (let time = 0; time < 2; time++) await expect(send(url, lookup)).rejects.toThrow('no public address');
    expect([lookup.asked.length, receiver.connections]).toEqual([2, 0]);
  });

  it('the name in WEBHOOK_URL may be one of this machine, and then only loopback addresses are', async () => {
    const url = `http://hooks.localhost:${receiver.port}/hook`;
    expect(await send(url, resolver(['10.0.0.1', '8.8.8.8', '127.0.0.1']))).toBe(204);
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook']);
    for (const address of ['10.0.0.1', '8.8.8.8']) {
      await expect(send(url, resolver([address]))).rejects.toThrow('hooks.localhost has no');
    }
  });

  it('a name in WEBHOOK_URL that has no address is a failure', async () => {
    await expect(send('https://hooks.example.com/', resolver([]))).rejects.toThrow('no public address');
    const failure: LookupFunction = (host, _options, callback) =>
      callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' }), '');
    await expect(send('https://hooks.example.com/', failure)).rejects.toThrow('ENOTFOUND hooks.example.com');
  });
});
