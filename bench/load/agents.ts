import { AGENT_MODEL, AGENT_QUESTION, AGENT_TOOLS, toToolOutput } from '../agent-traffic.ts';
import type { AgentJob, AgentOutcome } from './agent-job.ts';
import { openLine } from './agent-lines.ts';

/** The members of a response that are read. */
interface AgentResponse {
  readonly id: string;
  readonly output: readonly { readonly type: string; readonly call_id?: string; readonly arguments?: string }[];
  readonly usage: { readonly input_tokens: number };
}

/** The outcome of one agent. */
type Work = Pick<AgentOutcome, 'sentBytes' | 'lastSentBytes' | 'lastItems' | 'lastArguments'>;

/** Runs agents that answer calls until each has made its turns. Rejects if an answer is not exactly one call. */
export async function runAgents(job: AgentJob): Promise<AgentOutcome> {
  const works = await Promise.all(Array.from({ length: job.agents }, () => runAgent(job)));
  const [work] = works;
  if (work === undefined) throw new Error('there are no agents');
  return { turns: job.agents * job.turns, ...work };
}

async function runAgent(job: AgentJob): Promise<Work> {
  await using line = await openLine(job);
  let items = AGENT_QUESTION;
  let members = '';
  let work: Work = { sentBytes: 0, lastSentBytes: 0, lastItems: 0, lastArguments: '' };
  for (let turn = 0; turn < job.turns; turn++) {
    const request = `{"model":"${AGENT_MODEL}","tools":${AGENT_TOOLS},${members}"input":[${items.join()}]`;
    const { text, sentBytes } = await line.ask(request);
    const { response } = JSON.parse(text) as { readonly response: AgentResponse };
    const [call] = response.output;
    if (call?.call_id === undefined) throw new Error(`a turn ended without a call: ${text}`);
    const answer = toToolOutput(call.call_id);
    const isWhole = job.transport === 'http with full history';
    items = isWhole ? [...items, JSON.stringify(call), answer] : [answer];
    members = isWhole ? '' : `"previous_response_id":"${response.id}",`;
    const lastItems = response.usage.input_tokens;
    const lastArguments = call.arguments ?? '';
    work = { sentBytes: work.sentBytes + sentBytes, lastSentBytes: sentBytes, lastItems, lastArguments };
  }
  return work;
}
