import { afterAll } from '@jest/globals';

import { writeTemporaryFile } from './temporary-file.js';

/** Writes a file for MCP_SERVERS with these servers by their labels, until the tests of the spec file have run; returns its path. */
export async function writeMcpServers(servers: Readonly<Record<string, object>>): Promise<string> {
  const file = await writeTemporaryFile('servers.json', { servers });
  afterAll(() => file.remove());
  return file.path;
}
