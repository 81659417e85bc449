import { expect, it } from '@jest/globals';

import { type McpServer, toMcpTools } from './mcp-servers.js';

it('many sets of tools name many servers, each of which is looked at a few times', () => {
  const count = 200;
  let reads = 0;
  const servers = Array.from({ length: count }, (_, index): McpServer => ({
    type: 'url',
    get name() {
      reads += 1;
      return `s${index}`;
    },
  }));
  const sets = servers.map(() => ({ type: 'mcp_toolset', mcp_server_name: `s${count - 1}` }));
  expect(toMcpTools(servers, sets).chosen.size).toBe(count);
  expect(reads).toBeLessThan(10 * count);
});
