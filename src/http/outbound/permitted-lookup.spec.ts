import { isIP, type LookupFunction } from 'node:net';

import { describe, expect, it } from '@jest/globals';

import { permittedLookup } from './permitted-lookup.js';

type Found = Parameters<Parameters<LookupFunction>[2]>;

/** What a connection gets for a name with these addresses. */
function look(addresses: readonly string[], all: boolean): Promise<Found> {
  const lookup: LookupFunction = (_host, options, callback) => {
    expect(options).toMatchObject({ all: true, hints: 3 });
    callback(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    );
  };
  return new Promise((resolve) => {
    permittedLookup(lookup)('hooks.example.com', { all, hints: 3 }, (...found) => resolve(found));
  });
}

describe(permittedLookup.name, () => {
  it.each([
    '8.8.8.8',
    '100.63.255.255',
    '100.128.0.1',
    '172.15.0.1',
    '172.32.0.1',
    '192.0.1.1',
    '223.255.255.255',
    '2606:4700::1',
    '2a00:1450:4001::1',
    '2001:200::1',
    '64:ff9b::8.8.8.8',
    '64:ff9b::808:808',
  ])('permittedLookup finds %s, which is public', async (address) => {
    expect(await look([address], false)).toEqual([null, address, isIP(address)]);
  });

  it('permittedLookup finds only the public addresses of a name', async () => {
    const addresses = ['10.0.0.1', '8.8.8.8', '::1', '2606:4700::1', '64:ff9b::10.0.0.1'];
    const found = [
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ];
    expect(await look(addresses, true)).toEqual([null, found]);
    expect(await look(addresses, false)).toEqual([null, '8.8.8.8', 4]);
  });
});
