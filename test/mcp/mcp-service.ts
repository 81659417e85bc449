import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { DynamicModule, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';

import { ConfigModule } from '../../src/config/index.js';
import {
  McpModule,
  McpObserver,
  type McpRequestRecord,
  type McpServer,
  McpServers,
} from '../../src/tools/mcp/index.js';
import { FakeClock, type FakeMcpOptions, FakeMcpServer, type FakeMcpTool } from '../../src/testing/index.js';
import { Clock } from '../../src/time/index.js';
import { ServiceLog } from '../support/service-log.js';

/** The client side alone, with the servers of a file and a clock that stands still. */
export interface McpService extends AsyncDisposable {
  readonly servers: McpServers;
  readonly clock: FakeClock;
  /** Requests that are over. */
  readonly records: readonly McpRequestRecord[];
  /** What was logged. */
  readonly log: ServiceLog;
  /** Where MCP_SERVERS is. */
  readonly path: string;
}

/** Starts the client side with the content of MCP_SERVERS, and providers of a program. */
export async function startMcp(
  file: object,
  environment: Readonly<Record<string, unknown>> = {},
  providers: readonly Type[] = [],
): Promise<McpService> {
  const folder = await mkdtemp(join(tmpdir(), 'antiphon-mcp-'));
  const path = join(folder, 'servers.json');
  await writeFile(path, JSON.stringify(file));
  const records: McpRequestRecord[] = [];
  const clock = new FakeClock();
  const seams: DynamicModule = {
    module: class {},
    global: true,
    providers: [
      { provide: Clock, useValue: clock },
      {
        provide: McpObserver,
        useValue: { ended: (record: McpRequestRecord) => void records.push(record), approval: () => undefined },
      },
    ],
    exports: [Clock, McpObserver],
  };
  const module = await Test.createTestingModule({
    imports: [ConfigModule.forRoot({ MCP_SERVERS: path, ...environment }), seams, McpModule],
    providers: [...providers],
  }).compile();
  const log = ServiceLog.begin();
  const dispose = async (): Promise<void> => {
    log[Symbol.dispose]();
    await rm(folder, { recursive: true });
  };
  try {
    await module.init();
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    servers: module.get(McpServers),
    clock,
    records,
    log,
    path,
    async [Symbol.asyncDispose]() {
      await module.close();
      await dispose();
    },
  };
}

/** A fake server, and the client side that knows it as `docs`. */
export interface Both extends AsyncDisposable {
  readonly fake: FakeMcpServer;
  readonly mcp: McpService;
  readonly server: McpServer;
}

/** Starts both. `entry`: further members of the server in MCP_SERVERS. */
export async function startBoth(
  tools: readonly FakeMcpTool[] = [{ name: 'echo' }],
  options: FakeMcpOptions = {},
  entry: object = {},
): Promise<Both> {
  const fake = await FakeMcpServer.start(tools, options);
  const mcp = await startMcp({ servers: { docs: { url: fake.url, ...entry } } });
  return {
    fake,
    mcp,
    server: findServer(mcp),
    async [Symbol.asyncDispose]() {
      await mcp[Symbol.asyncDispose]();
      await fake.close();
    },
  };
}

/** A server by its label, for a tenant. */
export function findServer({ servers }: McpService, label = 'docs', tenant = 'acme'): McpServer {
  return servers.find({ type: 'mcp', server_label: label }, tenant, 'tools[0]');
}

/** A signal that nobody aborts. */
export const calm: AbortSignal = new AbortController().signal;
