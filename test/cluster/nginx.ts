import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startServer } from '../support/server-process.js';
import { requireRule } from '../../src/testing/events/rule.js';
import { onStablePort } from '../support/ports.js';

/** nginx with its files in a temporary directory. */
export interface Nginx extends AsyncDisposable {
  readonly port: number;
  readonly origin: string;
}

const SAMPLE = new URL('../../deploy/nginx/antiphon.conf', import.meta.url);
/** Nothing outside of its directory, and one process that ends with the test. */
const FRAME = 'daemon off; master_process off; pid nginx.pid; error_log stderr notice; events {}';
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${kind};`);

/** Starts nginx in front of these ports, configured as the sample in deploy/nginx. */
export async function startNginx(program: string, ports: readonly number[]): Promise<Nginx> {
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-nginx-'));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  const run = async (port: number): Promise<Nginx> => {
    const http = ['access_log off;', ...TEMPORARY, await readSample(port, ports)].join('\n');
    await writeFile(join(directory, 'nginx.conf'), `${FRAME}\nhttp {\n${http}\n}\n`);
    const args = ['-p', directory, '-c', 'nginx.conf', '-e', 'stderr'];
    const server = await startServer(program, args, { cwd: directory, account: undefined }, /nginx\//);
    return {
      port,
      origin: `http://127.0.0.1:${port}`,
      [Symbol.asyncDispose]: async () => {
        await server.end('SIGINT');
        await remove();
      },
    };
  };
  try {
    return await onStablePort(run);
  } catch (error) {
    await remove();
    throw error;
  }
}

/** The sample with other addresses, and without a log in the system's directory. */
async function readSample(port: number, ports: readonly number[]): Promise<string> {
  const changes: readonly (readonly [RegExp, string])[] = [
    [/(?: *server [\d.]+:8080 max_fails=0;\n)+/, ports.map((one) => `server 127.0.0.1:${one} max_fails=0;\n`).join('')],
    [/listen 8080;/, `listen 127.0.0.1:${port};`],
    [/access_log [^;]*;/, ''],
  ];
  let sample = await readFile(SAMPLE, 'utf8');
  for (const [pattern, replacement] of changes) {
    requireRule(pattern.test(sample), `deploy/nginx/antiphon.conf must have ${String(pattern)}`);
    sample = sample.replace(pattern, replacement);
  }
  return sample;
}
