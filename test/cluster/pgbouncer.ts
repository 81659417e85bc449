import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { serverAccount, startServer } from '../support/server-process.js';
import { onStablePort } from '../support/ports.js';

/** A pooler that hands its connections to another client after every transaction. */
export interface Pooler extends AsyncDisposable {
  /** The URL of the database through the pooler. */
  readonly url: string;
}

/** Fewer than clients have, so that they do share connections. */
const CONNECTIONS = 4;

/** Starts pgbouncer in front of a database. */
export async function startPooler(program: string, databaseUrl: string): Promise<Pooler> {
  const directory = await mkdtemp(join(tmpdir(), 'antiphon-pgbouncer-'));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  const account = serverAccount();
  const run = async (port: number): Promise<Pooler> => {
    for (const [name, text] of Object.entries(filesFor(port, new URL(databaseUrl)))) {
      await writeFile(join(directory, name), text);
    }
    const server = await startServer(program, ['pgbouncer.ini'], { cwd: directory, account }, /process up/);
    const url = new URL(databaseUrl);
    url.port = String(port);
    return {
      url: url.href,
      [Symbol.asyncDispose]: async () => {
        await server.end('SIGQUIT');
        await remove();
      },
    };
  };
  try {
    if (account !== undefined) await chown(directory, account.uid, account.gid);
    return await onStablePort(run);
  } catch (error) {
    await remove();
    throw error;
  }
}

function filesFor(port: number, database: URL): Readonly<Record<string, string>> {
  const [user, password] = [database.username, database.password].map((text) => decodeURIComponent(text));
  return {
    'users.txt': `"${user ?? ''}" "${password ?? ''}"\n`,
    'pgbouncer.ini': [
      '[databases]',
      `* = host=${database.hostname} port=${database.port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = scram-sha-256',
      'auth_file = users.txt',
      'pool_mode = transaction',
      `default_pool_size = ${CONNECTIONS}`,
      '',
    ].join('\n'),
  };
}
