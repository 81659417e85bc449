import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll } from '@jest/globals';

/** A file in a directory of its own. */
export interface TemporaryFile extends AsyncDisposable {
  readonly path: string;
  /** Removes it with its directory. */
  remove(): Promise<void>;
}

/** Writes one; what is no text is written as JSON. */
export async function writeTemporaryFile(name: string, content: string | object): Promise<TemporaryFile> {
  const directory = await mkdtempDisposable(join(tmpdir(), 'antiphon-test-'));
  const path = join(directory.path, name);
  await writeFile(path, toText(content));
  const remove = (): Promise<void> => directory.remove();
  return { path, remove, [Symbol.asyncDispose]: remove };
}

/** A text as it is, anything else as JSON. */
export function toText(content: string | object): string {
  return typeof content === 'string' ? content : JSON.stringify(content, null, 2);
}

/** Writes a file for MCP_SERVERS with these servers by their labels, until the tests of the spec file have run; returns its path. */
export async function writeMcpServers(servers: Readonly<Record<string, object>>): Promise<string> {
  const file = await writeTemporaryFile('servers.json', { servers });
  afterAll(() => file.remove());
  return file.path;
}
