import { describe, expect, it } from '@jest/globals';

import { EnvironmentError, readEnvironment } from '../../src/config/index.js';
import { startService } from '../support/service.js';

const KEY = Buffer.alloc(24, 'secret-1').toString('base64');
const WEBHOOK_SECRET = `whsec_${KEY}`;
const WEBHOOK_URL = 'https://hooks.example.com/antiphon?token=secret-1';

/** The lines an operator would read; none when the variables can be used. */
function faultsOf(variables: object): readonly string[] {
  try {
    readEnvironment({ ...variables });
    return [];
  } catch (error) {
    if (!(error instanceof EnvironmentError)) throw error;
    return error.violations;
  }
}

describe('WEBHOOK_URL', () => {
  it.each([
    ['nonsense secret-1', /^WEBHOOK_URL: expected a URL/],
    ['hooks.example.com', /^WEBHOOK_URL: expected a URL/],
    ['http://hooks.example.com/?secret-1', /^WEBHOOK_URL: expected https:\/\/\.$/],
    ['ftp://hooks.example.com/?secret-1', /^WEBHOOK_URL: expected https:\/\/\.$/],
    ['https://user:secret-1@hooks.example.com/', /^WEBHOOK_URL: must not contain a user or a password\.$/],
    ['https://secret-1@hooks.example.com/', /^WEBHOOK_URL: must not contain a user/],
    ['https://10.0.0.1/?secret-1', /^WEBHOOK_URL: must not be a private or reserved address\.$/],
    ['https://10.1/', /must not be a private/],
    ['https://0xa.0.0.1/', /must not be a private/],
    ['https://167772161/', /must not be a private/],
    ['https://012.0.0.1/', /must not be a private/],
    ['https://１０.0.0.1/', /must not be a private/],
    ['https://10.0.0.1./', /must not be a private/],
    ['https://169.254.169.254/latest/meta-data', /must not be a private/],
    ['https://0.0.0.0/', /must not be a private/],
    ['https://0/', /must not be a private/],
    ['https://[::]/', /must not be a private/],
    ['https://[::ffff:10.0.0.1]/', /must not be a private/],
    ['https://[::ffff:127.0.0.1]/', /must not be a private/],
    ['https://[fd00::1]/', /must not be a private/],
    ['https://[64:ff9b::a00:1]/', /must not be a private/],
    ['https://127.0.0.1/', /WEBHOOK_ALLOW_LOOPBACK=true/],
    ['https://127.1/', /WEBHOOK_ALLOW_LOOPBACK=true/],
    ['https://2130706433/', /WEBHOOK_ALLOW_LOOPBACK=true/],
    ['https://[::1]/', /WEBHOOK_ALLOW_LOOPBACK=true/],
    ['https://[0:0:0:0:0:0:0:1]/', /WEBHOOK_ALLOW_LOOPBACK=true/],
    ['http://localhost:3000/', /WEBHOOK_ALLOW_LOOPBACK=true/],
    ['https://LOCALHOST/', /WEBHOOK_ALLOW_LOOPBACK=true/],
    ['https://hooks.localhost/', /WEBHOOK_ALLOW_LOOPBACK=true/],
  ])('a wrong WEBHOOK_URL is refused without being quoted: %s', (url, line) => {
    const faults = faultsOf({ WEBHOOK_URL: url, WEBHOOK_SECRET });
    expect(faults).toEqual([expect.stringMatching(line)]);
    expect(faults.join()).not.toContain('secret-1');
  });

  it.each([
    ['http://hooks.example.com/', /expected https/],
    ['https://192.168.0.1/', /must not be a private/],
    ['http://10.0.0.1/', /expected https/],
    ['ftp://localhost/', /expected https:\/\/ or http:\/\//],
  ])('%s is refused where loopback is allowed, too', (url, line) => {
    const faults = faultsOf({ WEBHOOK_URL: url, WEBHOOK_SECRET, WEBHOOK_ALLOW_LOOPBACK: 'true' });
    expect(faults).toEqual([expect.stringMatching(line)]);
  });

  it.each([
    [WEBHOOK_URL, 'false'],
    ['https://hooks.example.com:8443', 'false'],
    ['https://8.8.8.8/hooks', 'false'],
    ['https://[2606:4700::1]/hooks', 'false'],
    ['http://localhost:3000/hooks', 'true'],
    ['http://127.0.0.1:3000/hooks', 'true'],
    ['http://[::1]:3000/hooks', 'true'],
    ['https://localhost/hooks', 'true'],
  ])('WEBHOOK_URL may be %s with WEBHOOK_ALLOW_LOOPBACK=%s', (url, loopback) => {
    expect(faultsOf({ WEBHOOK_URL: url, WEBHOOK_SECRET, WEBHOOK_ALLOW_LOOPBACK: loopback })).toEqual([]);
  });
});

describe('WEBHOOK_SECRET', () => {
  it.each([
    ['nothing', ''],
    ['no prefix', KEY],
    ['another prefix', `sk_${KEY}`],
    ['no key', 'whsec_'],
    ['too short a key', `whsec_${Buffer.alloc(23, 'secret-1').toString('base64')}`],
    ['what is not base64', `whsec_${KEY.slice(1)}!`],
    ['base64 that is cut off', `whsec_${Buffer.alloc(32).toString('base64').slice(0, -1)}`],
    ['base64 for URLs', `whsec_${Buffer.alloc(32, 255).toString('base64url')}`],
  ])('a wrong WEBHOOK_SECRET is refused without being quoted: %s', (_name, secret) => {
    const faults = faultsOf({ WEBHOOK_URL, WEBHOOK_SECRET: secret });
    expect(faults).toEqual([expect.stringMatching(/^WEBHOOK_SECRET: expected whsec_ and at least 24 bytes in base64/)]);
    if (secret !== '') expect(faults.join()).not.toContain(secret.replace('whsec_', '') || 'nothing');
  });

  it('WEBHOOK_SECRET is not needed without WEBHOOK_URL', () => {
    expect(faultsOf({ WEBHOOK_SECRET: '' })).toEqual([]);
    expect(faultsOf({ WEBHOOK_SECRET: 'left over' })).toEqual([]);
  });

  it('a wrong WEBHOOK_SECRET is reported together with a WEBHOOK_URL that is wrong too', () => {
    const named = faultsOf({ WEBHOOK_URL: 'x', WEBHOOK_SECRET: 'x' }).map((line) => line.split(':')[0]);
    expect(named).toEqual(['WEBHOOK_URL', 'WEBHOOK_SECRET']);
  });
});

it('a service with webhooks that cannot be sent does not start', async () => {
  const environment = { WEBHOOK_URL: 'http://hooks.example.com/', WEBHOOK_SECRET };
  await expect(startService({ environment })).rejects.toThrow('WEBHOOK_URL: expected https://.');
});
