import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';

import { describeService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { readText } from '../docs/pages.js';
import { DESCRIBED, operationsIn, readDocument } from './documents.js';

/** Routes that exist only to answer 405 or the methods of a path. */
const WITHOUT_OPERATION = [
  'GET /responses/compact',
  'DELETE /responses/compact',
  'GET /responses/input_tokens',
  'DELETE /responses/input_tokens',
];

describeService('the OpenAPI document', DESCRIBED, (service) => {
  it('the OpenAPI document is valid', async () => {
    const { valid, errors } = await new Validator().validate(
      structuredClone(await readDocument<Record<string, unknown>>(service.origin)),
    );
    expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
  });

  it('the OpenAPI document has every route of the API, and no other', async () => {
    const fastify = service.app.getHttpAdapter().getInstance();
    const printed = fastify.printRoutes({ commonPrefix: false });
    const routes = pathsIn(printed).filter((route) => !WITHOUT_OPERATION.includes(route));
    const document = await readDocument(service.origin);
    const described = operationsIn(document).map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(described.sort()).toEqual(routes.sort());
  });

  it('docs/api.md names every route', async () => {
    const routes = readText('docs/api.md').split('## API description')[0] ?? '';
    const paths = Object.keys((await readDocument<{ paths: object }>(service.origin)).paths);
    const names = new Set(paths.flatMap((path) => path.match(/\/[a-z_]+/g) ?? []));
    expect([...names].filter((name) => !new RegExp(`${name}\\b`).test(routes))).toEqual([]);
  });

  it('the description has the methods that a wrong one on each path is told of', async () => {
    const operations = operationsIn(await readDocument(service.origin));
    const byPath = Map.groupBy(operations, ({ path }) => path);
    const described = [...byPath].map(([path, those]) => {
      const methods = those.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
      return [path, methods.toSorted()];
    });
    const told = await Promise.all(
      [...byPath.keys()].map(async (path) => {
        const url = `${service.origin}/v1${path.replaceAll(/\{\w+\}/g, 'x')}`;
        const answer = await fetch(url, { method: 'PATCH' });
        await answer.text();
        return [path, answer.headers.get('allow')?.split(', ').toSorted()];
      }),
    );
    expect(told).toEqual(described);
  });

  it('the OpenAPI document names each operation once', async () => {
    const ids = operationsIn(await readDocument(service.origin)).map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(20);
  });

  it('the OpenAPI document is on the addresses under which the API is', async () => {
    expect((await readDocument(service.origin)).servers).toEqual([{ url: '/v1' }, { url: '/openai/v1' }]);
  });
});

describe('API_DOCS=false', () => {
  it('API_DOCS=false hides the documents and the page', async () => {
    await using service = await startService({ ...DESCRIBED, environment: { API_DOCS: 'false' } });
    for (const path of ['/openapi.json', '/asyncapi.json', '/docs', '/docs/start.js']) {
      expect((await fetch(`${service.origin}${path}`)).status).toBe(404);
    }
  });
});

/** The routes under `/v1` as OpenAPI writes them, from the tree that Fastify prints. */
function pathsIn(printed: string): string[] {
  const ancestors: string[] = [];
  return printed.split('\n').flatMap((line) => {
    const [, branches = '', part = '', methods = ''] =
      /^((?:│ {3}| {4})*)[├└]── (\S+)(?: \(([^)]+)\))?/.exec(line) ?? [];
    if (part === '') return [];
    const depth = branches.length / 4;
    ancestors.splice(depth, Infinity, part);
    const path = ancestors.join('');
    if (!path.startsWith('/v1/') || methods === '') return [];
    const template = path
      .slice('/v1'.length)
      .replace(/:(\w+)/g, '{$1}')
      .replace(/\/?\*/, '/{path}');
    return methods
      .split(', ')
      .filter((method) => method !== 'HEAD' && method !== 'OPTIONS')
      .map((method) => `${method} ${template}`);
  });
}
