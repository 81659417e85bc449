import { Module } from '@nestjs/common';

import { McpServers } from './mcp-servers.js';

/** The client side of MCP: servers, their connections and credentials. It knows nothing of turns. */
@Module({ providers: [McpServers], exports: [McpServers] })
export class McpModule {}
