import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startServer } from './postgres/server-process.js';
import { requireRule } from './rule.js';
import { onStablePort } from './stable-port.js';

/** nginx with its files in a temporary directory. */
export interface Nginx extends AsyncDisposable {
  readonly port: number;
  readonly origin: string;
}

const PAGE = new URL('../../docs/deployment.md', import.meta.url);
/** Nothing outside of its directory, and one process that ends with the test. */
const FRAME = 'daemon off; master_process off; pid nginx.pid; error_log stderr notice; events {}';
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${kind};`);

/** Starts nginx in front of these ports, configured as docs/deployment.md tells operators to. */
export async function startNginx(program: string, ports: readonly number[]): Promise<Nginx> {
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-nginx-'));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  const run = async (port: number): Promise<Nginx> => {
    const http = ['access_log off;', ...TEMPORARY, await readSnippet(port, ports)].join('\n');
    await writeFile(join(directory, 'nginx.conf'), `${FRAME}\nhttp {\n${http}\n}\n`);
    const args = ['-p', directory, '-c', 'nginx.conf', '-e', 'stderr'];
    const server = await startServer(program, args, { cwd: directory, account: undefined }, 'nginx/');
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

/** The page's snippet with other addresses. */
async function readSnippet(port: number, ports: readonly number[]): Promise<string> {
  const [, snippet = ''] = /```nginx\n(.*?)```/s.exec(await readFile(PAGE, 'utf8')) ?? [];
  const servers = ports.map((backend) => `server 127.0.0.1:${backend};`).join(' ');
  const upstream = snippet.replace(/(upstream antiphon \{)[^}]*/, `$1 ${servers} `);
  const whole = upstream.replace('listen 80;', `listen 127.0.0.1:${port};`);
  requireRule(upstream !== snippet && whole !== upstream, 'docs/deployment.md must have a snippet for nginx');
  return whole;
}
