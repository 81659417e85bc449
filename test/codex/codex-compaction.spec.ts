import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { CodexCli } from './codex-cli.js';
import { complaintsIn, messagesIn, ROADS } from './roads.js';
import { Stack } from './stack.js';

describe.each(ROADS)('Codex with little room for its context, $name', (road) => {
  let stack: Stack;
  let codex: CodexCli;

  beforeAll(async () => {
    stack = await Stack.open(road);
    codex = await stack.codex({ compactsFrom: 40_000 });
  });
  afterAll(async () => {
    await codex[Symbol.asyncDispose]();
    await stack[Symbol.asyncDispose]();
  });

  it('Codex with little room has its context compacted in the middle of a turn, goes on, and resumes the session', async () => {
    const call = { name: 'exec_command', arguments: JSON.stringify({ cmd: 'echo counted' }) };
    stack.model
      .answer({ toolCalls: [call], usage: { prompt_tokens: 50_000, completion_tokens: 10 } })
      .answer({ text: 'They count the boats.' })
      .answer({ text: 'Twelve boats.' });
    const run = codex.begin('Count the boats.');
    const session = await run.session;
    expect(await run.ended).toMatchObject({ code: 0 });
    const ended = await run.ended;
    expect(complaintsIn(ended)).toEqual([]);
    expect(messagesIn(ended)).toEqual(['Twelve boats.']);
    expect(stack.model.requests).toHaveLength(3);
    const said = (): string => JSON.stringify(stack.lastRequest.body.messages);
    expect(said()).toContain('Count the boats.');
    expect(said()).toContain('They count the boats.');
    // The call and its output are part of the summary.
    expect(stack.lastRequest.body.messages?.some(({ role }) => role === 'tool')).toBe(false);

    stack.model.answer({ text: 'Twelve.' });
    const resumed = await codex.exec('resume', session, 'How many were there?');
    expect(resumed).toMatchObject({ code: 0 });
    expect(messagesIn(resumed)).toEqual(['Twelve.']);
    expect(said()).toContain('They count the boats.');
    expect(codex.strayed).toEqual([]);
  });
});
