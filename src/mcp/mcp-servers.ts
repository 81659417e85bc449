import { Injectable } from '@nestjs/common';

import type { McpServer, McpToolParam } from './mcp-server.js';

/** The MCP servers that the service calls: those of MCP_SERVERS, and those of clients as far as MCP_CLIENT_URLS allows. */
@Injectable()
export class McpServers {
  /** Whether the service runs a tool itself; otherwise it is left to the upstream. */
  runs(_tool: McpToolParam, _tenant: string): boolean {
    return false;
  }

  /**
   * The server of a tool. Throws ApiError 400, whose `param` begins with the given one: a server that is unknown or not open to the tenant,
   * a URL that is not allowed, malformed headers.
   *
   * @param param place of the tool in the request, such as `tools[0]`
   * @param callerToken the caller's own token, for servers that exchange it
   */
  find(_tool: McpToolParam, _tenant: string, _param: string, _callerToken?: string): McpServer {
    throw new Error('no MCP servers are configured');
  }
}
