import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

import { expect, it } from '@jest/globals';

import { describeService } from '../support/describe-service.js';
import { DESCRIBED } from './documents.js';

const run = promisify(execFile);
const MODULES = resolve('node_modules');

/** A program as a user of the generated client writes it. It prints what it has seen as JSON. */
const PROGRAM = `import { client } from './client/client.gen.js';
import { createResponse, deleteResponse, getResponse, listResponses } from './client/sdk.gen.js';

client.setConfig({ baseUrl: process.argv[2] ?? '' });

const { data: made } = await createResponse({ body: { model: 'gpt-5', input: 'Hello!' } });
if (made === undefined) throw new Error('no response');
const id: string = made.id;
const { data: read } = await getResponse({ path: { id } });
const { data: list } = await listResponses({ query: { limit: 1 } });
const types: string[] = [];
const { stream } = await client.sse.post({
  url: '/responses',
  headers: { 'Content-Type': 'application/json' },
  body: { model: 'gpt-5', input: 'Hello!', stream: true },
});
for await (const event of stream) if (typeof event === 'object' && event !== null && 'type' in event) types.push(String(event.type));
const { data: deleted } = await deleteResponse({ path: { id } });
const { error, response } = await getResponse({ path: { id } });
console.log(
  JSON.stringify({
    status: made.status,
    isSame: read?.id === id,
    listed: list?.data.length,
    first: types[0],
    last: types.at(-1),
    deleted: deleted?.deleted,
    error: [response?.status, error?.error.type],
  }),
);
`;

const GENERATOR = `export default {
  input: 'openapi.json',
  output: { path: 'client', importFileExtension: '.js' },
  plugins: ['@hey-api/client-fetch', '@hey-api/sdk', '@hey-api/typescript'],
  logs: { level: 'silent' },
};
`;

const TYPES = {
  compilerOptions: {
    ...{ target: 'es2024', module: 'nodenext', lib: ['es2024', 'dom', 'dom.iterable'], strict: true },
    ...{ rootDir: '.', outDir: 'built', types: ['node'], typeRoots: [join(MODULES, '@types')] },
  },
  include: ['program.ts', 'client'],
};

describeService('a client that is generated from the document', DESCRIBED, (service) => {
  it('a client that is generated from the document compiles, and runs against the service', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'generated-client-'));
    try {
      await symlink(MODULES, join(directory, 'node_modules'));
      await writeFile(join(directory, 'openapi.json'), await (await fetch(`${service.origin}/openapi.json`)).text());
      await writeFile(join(directory, 'program.ts'), PROGRAM);
      await writeFile(join(directory, 'openapi-ts.config.mjs'), GENERATOR);
      await writeFile(join(directory, 'package.json'), '{"type":"module"}');
      await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(TYPES));
      const node = (script: string, ...options: string[]) =>
        run(process.execPath, [join(MODULES, script), ...options], { cwd: directory });
      await node('@hey-api/openapi-ts/bin/run.js');
      await node('typescript-7/bin/tsc', '--project', '.').catch((error: unknown) => {
        throw new Error((error as { stdout: string }).stdout.slice(0, 4000));
      });
      const { stdout } = await run(process.execPath, ['built/program.js', service.baseURL], { cwd: directory });
      expect(JSON.parse(stdout)).toEqual({
        status: 'completed',
        isSame: true,
        listed: 1,
        first: 'response.created',
        last: 'response.completed',
        deleted: true,
        error: [404, 'invalid_request_error'],
      });
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
