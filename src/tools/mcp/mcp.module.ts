import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';

import { McpServers } from './mcp-servers.js';
import { OwnServers } from './own-servers.js';

/** The client side of MCP: servers, their connections and credentials, and tools of the program beside them. It knows nothing of turns. */
@Module({ imports: [DiscoveryModule], providers: [OwnServers, McpServers], exports: [OwnServers, McpServers] })
export class McpModule {}
