import type { LookupFunction } from 'node:net';

import { describe, expect, it } from '@jest/globals';

import { HttpClient } from './bounded-fetch.js';

/** Answers for a name with other addresses each time, as a server does that wants to get past a check. */
function rebinding(...answers: readonly string[]): { readonly lookup: LookupFunction; readonly asked: string[] } {
  const asked: string[] = [];
  const lookup: LookupFunction = (host, _options, callback) => {
    asked.push(host);
    callback(null, [{ address: answers[asked.length - 1] ?? '127.0.0.1', family: 4 }]);
  };
  return { lookup, asked };
}

describe(HttpClient.name, () => {
  it('HttpClient connects to no address that is not public, whatever a name had before', async () => {
    const { lookup, asked } = rebinding('127.0.0.1', '169.254.169.254', '10.0.0.1');
    const client = new HttpClient({ isPublic: true, lookup });
    try {
      for (let attempt = 0; attempt < 3; attempt++) {
        await expect(client.bounded(1024)('https://mcp.example.com/mcp')).rejects.toMatchObject({
          cause: { name: 'RefusedAddressError', message: 'mcp.example.com has no public address' },
        });
      }
      expect(asked).toEqual(['mcp.example.com', 'mcp.example.com', 'mcp.example.com']);
    } finally {
      await client.close();
    }
  });
});
