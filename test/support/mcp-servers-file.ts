import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll } from '@jest/globals';

/** Writes a file for MCP_SERVERS with these servers by their labels, until the tests of the spec file have run; returns its path. */
export async function writeMcpServers(servers: Readonly<Record<string, object>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'antiphon-mcp-'));
  afterAll(() => rm(folder, { recursive: true }));
  const path = join(folder, 'servers.json');
  await writeFile(path, JSON.stringify({ servers }));
  return path;
}
