import { beforeAll, describe, expect, it } from '@jest/globals';

import { request } from 'undici';

import { useService } from '../support/describe-service.js';
import { DESCRIBED, operationsIn, readDocument } from './documents.js';

const HEADERS = { authorization: 'Bearer test', 'anthropic-version': '2023-06-01' };

/** A route with its first parameter of a query. */
interface Route {
  readonly method: string;
  readonly path: string;
  readonly member: string;
}

/** The routes of the description that have a query, the list of models of Anthropic's clients, and those of the simulator. */
async function listRoutes(origin: string): Promise<readonly Route[]> {
  const described = operationsIn(await readDocument(origin)).flatMap(({ method, path, parameters = [] }) => {
    const first = parameters.find((parameter) => parameter.in === 'query');
    if (first === undefined) return [];
    const member = first.name.replace('[]', '');
    return [{ method: method.toUpperCase(), path: `/v1${path}`.replaceAll(/\{\w+\}/g, 'x'), member }];
  });
  return [
    ...described,
    { method: 'GET', path: '/v1/models', member: 'limit' },
    { method: 'GET', path: '/simulator/requests', member: 'status' },
  ];
}

function misspell(name: string): string {
  return `${name.slice(0, 1)}${name.slice(2)}`;
}

async function ask(origin: string, { method, path }: Route, query: string): Promise<unknown> {
  const answer = await fetch(`${origin}${path}?${query}`, { method, headers: HEADERS });
  return { status: answer.status, body: await answer.json() };
}

function refusal(name: string, meant?: string): object {
  const [asked, suggested] = [RegExp.escape(name), RegExp.escape(meant ?? '')];
  const message = expect.stringMatching(meant === undefined ? asked : `'${asked}'. Did you mean .*'${suggested}'`);
  return { status: 400, body: { error: { message } } };
}

describe('a query with a member that its route does not have', () => {
  const service = useService({ ...DESCRIBED, environment: { ...DESCRIBED.environment, SIMULATOR_CONTROL: true } });
  let routes: readonly Route[];

  beforeAll(async () => {
    routes = await listRoutes(service.origin);
  });

  it('every route with a query refuses a misspelt member, and names the one that is meant', async () => {
    expect(routes.length).toBeGreaterThan(15);
    for (const route of routes) {
      const name = misspell(route.member);
      const answer = await ask(service.origin, route, `${name}=1`);
      expect([route.path, answer]).toMatchObject([route.path, refusal(name, route.member)]);
    }
  });

  it.each([
    ['metdata[name]=x', 'metdata', 'metadata'],
    ['inclde[]=x', 'inclde', 'include'],
  ])('a route refuses a misspelt member with brackets: %s', async (query, name, meant) => {
    const path = meant === 'include' ? '/v1/responses/x' : '/v1/responses';
    const answer = await ask(service.origin, { method: 'GET', path, member: meant }, query);
    expect(answer).toMatchObject(refusal(name, meant));
  });

  it('every route refuses a parameter whose brackets it does not read, and names how it is written', async () => {
    for (const route of routes) {
      const isArray = ['include', 'group_by', 'models'].includes(route.member);
      const name = `${route.member}${isArray ? '[0]' : '[]'}`;
      const answer = await ask(service.origin, route, `${name}=1`);
      expect([route.path, answer]).toMatchObject([route.path, refusal(name, `${route.member}${isArray ? '[]' : ''}`)]);
    }
    const filter = { method: 'GET', path: '/v1/responses', member: 'status' };
    expect(await ask(service.origin, filter, 'status[x]=completed')).toMatchObject(refusal('status[x]', 'status'));
  });

  it('a route takes a member that looks like none of its own, and the versions that SDKs add', async () => {
    const answer = await ask(
      service.origin,
      { method: 'GET', path: '/v1/responses', member: '' },
      'colour=red&api-version=1',
    );
    expect(answer).toMatchObject({ status: 200 });
  });

  it('a route takes arrays and metadata in brackets', async () => {
    const route = { method: 'GET', path: '/v1/responses', member: '' };
    const query = 'metadata[topic]=x&created_at[gte]=1&limit=1';
    expect(await ask(service.origin, route, query)).toMatchObject({ status: 200 });
    const item = { method: 'GET', path: '/v1/responses/resp_x', member: '' };
    const include = 'include[]=message.output_text.logprobs';
    expect(await ask(service.origin, item, include)).toMatchObject({ status: 404 });
  });

  it('the body of a GET, which holds a query, is refused with a misspelt member', async () => {
    const { statusCode, body } = await request(`${service.origin}/v1/responses/resp_x`, {
      method: 'GET',
      headers: { ...HEADERS, 'content-type': 'application/json' },
      body: '{"strem": true}',
    });
    expect([statusCode, await body.text()]).toEqual([400, expect.stringContaining("Did you mean 'stream'?")]);
  });

  it('a journal refuses a status that no request has, and a page without entries', async () => {
    const route = { method: 'GET', path: '/simulator/requests', member: '' };
    expect(await ask(service.origin, route, 'status=nope')).toMatchObject(refusal('completed'));
    expect(await ask(service.origin, route, 'limit=0')).toMatchObject(refusal('limit'));
    expect(await ask(service.origin, route, 'limit=1001')).toMatchObject(refusal('limit'));
    expect(await ask(service.origin, route, 'status=&model=&space=&limit=')).toMatchObject({ status: 200 });
  });
});

describe('with UNKNOWN_PARAMETERS=reject', () => {
  const service = useService({
    ...DESCRIBED,
    environment: { ...DESCRIBED.environment, UNKNOWN_PARAMETERS: 'reject', SIMULATOR_CONTROL: true },
  });

  it('every route with a query refuses any member that it does not have, but for the versions that SDKs add', async () => {
    for (const route of await listRoutes(service.origin)) {
      const answer = await ask(service.origin, route, 'beta=true&colour=red');
      expect([route.path, answer]).toMatchObject([route.path, refusal("'colour'")]);
    }
  });
});
