import type { Start } from '../harness/bench.ts';
import type { Case, Load } from '../harness/case.ts';
import type { Server } from '../harness/processes.ts';
import { CALLER_MODEL, NO_CALL, SEARCH, toBody } from '../traffic.ts';
import { atMost, CPU_PER_TURN, service, toTurnSample } from './programs.ts';

/** What a request names: the tool of the server with this label, or the function that a model knows it as. */
const LABEL = 'bench';
const SERVER_TOOL = { type: 'mcp', server_label: LABEL };
const FUNCTION = {
  type: 'function',
  name: `${LABEL}__${SEARCH.name}`,
  description: SEARCH.description,
  parameters: {
    type: 'object',
    properties: { path: { type: 'string', description: SEARCH.path } },
    required: ['path'],
  },
  strict: false,
};

const server: Start = (bench) => bench.start('servers/mcp.ts');

/** The service with an MCP server, whose tool it runs unasked. */
const withServer: Start = async (bench) => {
  const url = `${(await bench.server(server)).origin}/mcp`;
  const servers = { [LABEL]: { url, require_approval: 'never' } };
  const MCP_SERVERS = await bench.file(JSON.stringify({ servers }));
  return service({ MCP_SERVERS })(bench);
};

/** Turns that all continue one response, which has listed the tools if there is a server. */
function turns(tool: object, input: string | undefined, expected: readonly string[]): Load {
  const roots = new WeakMap<Server, string>();
  return async (one, bench) => {
    const job = { url: one.url, concurrency: 1 };
    const body = (members: object): string => toBody(CALLER_MODEL, null, { tools: [tool], ...members });
    if (!roots.has(one)) {
      const listed = tool === SERVER_TOOL ? ['mcp_list_tools', 'message'] : ['message'];
      const root = await bench.load.run('tools', {
        ...job,
        turns: 1,
        body: body({ input: NO_CALL }),
        expected: listed,
      });
      roots.set(one, root.responseId);
    }
    const members = { previous_response_id: roots.get(one), ...(input === undefined ? {} : { input }) };
    // More than the other counts: what a turn with a tool runs is compiled only after some thousand turns.
    const count = bench.sizes.countedTurns * bench.times(4);
    return toTurnSample([await bench.measure(one, 'tools', { ...job, turns: count, body: body(members), expected })]);
  };
}

/** What it costs that the service runs a tool. */
export const TOOLS: readonly Case[] = [
  {
    name: 'server-tool',
    table: 'tools',
    sides: { service: withServer, floor: service() },
    rows: () => [
      {
        name: 'server-tool, a call of the service ÷ a call that the client answers',
        load: {
          service: turns(SERVER_TOOL, undefined, ['mcp_call', 'message']),
          floor: turns(FUNCTION, undefined, ['function_call', 'message']),
        },
        goals: [atMost(CPU_PER_TURN, 'ratio', 1.3)],
      },
      {
        name: 'server-tool, a list in the context ÷ none',
        load: { service: turns(SERVER_TOOL, NO_CALL, ['message']), floor: turns(FUNCTION, NO_CALL, ['message']) },
        goals: [atMost(CPU_PER_TURN, 'ratio', 1.1)],
      },
    ],
  },
];
