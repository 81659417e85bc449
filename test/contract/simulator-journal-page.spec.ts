import { createHash } from 'node:crypto';

import { beforeEach, describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';

const service = useService({ environment: { API_KEYS: 'alice:sk-alice,bob:sk-bob', SIMULATOR_CONTROL: true } });

const HOSTILE = `"><script>alert('x')</script>&amp;`;

async function send(body: object, space = '', key = 'sk-alice'): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-simulator-space': space };
  const answer = await fetch(`${service.origin}/v1/responses`, { method: 'POST', headers, body: JSON.stringify(body) });
  await answer.body?.cancel();
}

async function open(query = '', key = 'sk-alice', accept = 'text/html,*/*;q=0.8'): Promise<Response> {
  return fetch(`${service.origin}/simulator/requests${query}`, { headers: { authorization: `Bearer ${key}`, accept } });
}

/** The summaries of a page, without their times. */
async function summaries(query = '', key = 'sk-alice'): Promise<readonly string[]> {
  const page = await (await open(query, key)).text();
  return [...page.matchAll(/<summary>(.*?) <time>/g)].map(([, text = '']) => text);
}

describe('the journal as a page', () => {
  beforeEach(async () => {
    for (const space of ['', 'one']) {
      const headers = { authorization: 'Bearer sk-alice', 'x-simulator-space': space };
      await (await fetch(`${service.origin}/simulator/reset`, { method: 'POST', headers })).body?.cancel();
    }
  });

  it('the page of the journal shows what a space was asked, newest first, by model and outcome', async () => {
    await send({ model: 'gpt-5', input: 'first' });
    await send({ model: 'gpt-5-mini', input: 'second' });
    await send({ model: 'gpt-5', input: 'third', temperature: 9 });
    await send({ model: 'gpt-5', input: 'apart' }, 'one');
    await send({ model: 'gpt-5', input: 'of bob' }, '', 'sk-bob');
    const numbers = async (query: string): Promise<readonly unknown[]> =>
      (await summaries(query)).map((text) => text.split(' ')[0]);
    expect(await numbers('')).toEqual(['3.', '2.', '1.']);
    expect(await numbers('?model=gpt-5')).toEqual(['3.', '1.']);
    expect(await numbers('?status=refused')).toEqual(['3.']);
    expect(await numbers('?space=&model=&status=&limit=2')).toEqual(['3.', '2.']);
    expect(await numbers('?limit=0')).toEqual([]);
    expect(await summaries('?space=one')).toEqual([expect.stringContaining('apart')]);
    expect(await summaries('', 'sk-bob')).toEqual([expect.stringContaining('of bob')]);
    expect(await (await open('?limit=2')).text()).toContain('2 of 3 requests');
    expect((await open('?limit=many')).status).toBe(400);
  });

  it('the page of the journal runs nothing, whatever was asked', async () => {
    await send({ model: HOSTILE, input: HOSTILE, metadata: { [HOSTILE]: HOSTILE } });
    await send({ model: HOSTILE, input: HOSTILE }, 'one');
    const query = `?${new URLSearchParams({ space: HOSTILE, model: HOSTILE }).toString()}`;
    for (const asked of ['', '?space=one', query]) {
      const answer = await open(asked);
      const page = await answer.text();
      expect(page).not.toContain('<script');
      // Text of attributes stays in them.
      if (asked === query) expect(page).toContain('value="&quot;&gt;&lt;script&gt;');
      const policy = answer.headers.get('content-security-policy') ?? '';
      const [, style = ''] = /<style>(.*)<\/style>/s.exec(page) ?? [];
      expect(policy.split('; ')).toEqual([
        "default-src 'none'",
        `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
        'img-src data:',
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ]);
    }
  });

  it('the page of the journal is short however long a request was', async () => {
    await send({ model: 'gpt-5', input: 'x'.repeat(500_000) });
    const page = await (await open()).text();
    expect(page.length).toBeLessThan(50_000);
    expect(page).toMatch(/the first 10000 of \d+ characters/);
  });

  it('the page of the journal is for browsers, and kept by no cache', async () => {
    const page = await open();
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('vary')?.toLowerCase()).toContain('accept');
    await page.body?.cancel();
    const json = await open('', 'sk-alice', 'application/json');
    expect(json.headers.get('vary')?.toLowerCase()).toContain('accept');
    expect(await json.json()).toMatchObject({ object: 'list', data: [] });
    expect((await open('', 'sk-mallory')).status).toBe(401);
  });
});
