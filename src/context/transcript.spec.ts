import { describe, expect, it } from '@jest/globals';

import type { Item } from '../protocol/index.js';
import { Transcript } from './transcript.js';

const message = (id: string): Item => ({ type: 'message', id, role: 'user', content: [] });
const call = (id: string, callId: string, type = 'function_call'): Item => ({ type, id, call_id: callId });
const output = (id: string, callId: string | null, type = 'function_call_output'): Item => ({
  type,
  id,
  call_id: callId,
});
const ids = (transcript: Transcript): string[] => transcript.items.map(({ id }) => id);

describe(Transcript.name, () => {
  it('a transcript keeps the order of what was added', () => {
    const transcript = Transcript.of([message('a')])
      .accept([message('b')])
      .append([message('c')]);
    expect(ids(transcript)).toEqual(['a', 'b', 'c']);
  });

  it('a transcript is a value: forks of one parent do not see each other', () => {
    const parent = Transcript.of([message('a')]);
    const left = parent.accept([message('left')]);
    const right = parent.accept([message('right')]);
    const leftAgain = left.accept([message('right')]);
    expect(ids(parent)).toEqual(['a']);
    expect(ids(left)).toEqual(['a', 'left']);
    expect(ids(right)).toEqual(['a', 'right']);
    expect(ids(leftAgain)).toEqual(['a', 'left', 'right']);
  });

  it('a transcript is not changed by input it refuses', () => {
    const parent = Transcript.of([message('a')]);
    expect(() => parent.accept([message('b'), output('o', 'nowhere')])).toThrow();
    expect(ids(parent.accept([message('b')]))).toEqual(['a', 'b']);
  });

  it.each([
    ['twice in the input', [message('b'), message('b')]],
    ['already in the chain', [message('a')]],
  ])('a transcript refuses an item that is %s', (_, input) => {
    const duplicate = input.at(-1)?.id ?? '';
    expect(() => Transcript.of([message('a')]).accept(input)).toThrow(
      expect.objectContaining({
        status: 400,
        code: null,
        param: 'input',
        message: `Duplicate item found with id ${duplicate}. Remove duplicate items from your input and try again.`,
      }),
    );
  });

  it.each([
    ['function_call', 'function_call_output', 'function call'],
    ['custom_tool_call', 'custom_tool_call_output', 'custom tool call'],
    ['shell_call', 'shell_call_output', 'shell call'],
    ['apply_patch_call', 'apply_patch_call_output', 'apply patch call'],
    ['computer_call', 'computer_call_output', 'computer call'],
  ])('a transcript pairs %s with %s', (callType, outputType, words) => {
    const asked = Transcript.of([message('a'), call('c', 'call_1', callType)]);
    expect(ids(asked.accept([output('o', 'call_1', outputType)]))).toEqual(['a', 'c', 'o']);
    expect(() => asked.accept([message('b')])).toThrow(`No tool output found for ${words} call_1.`);
    expect(() => Transcript.of([]).accept([output('o', 'call_1', outputType)])).toThrow(
      `No tool call found for ${words} output with call_id call_1.`,
    );
  });

  it('a transcript lets an output stand before its call', () => {
    const transcript = Transcript.of([]).accept([output('o', 'call_1'), call('c', 'call_1')]);
    expect(ids(transcript)).toEqual(['o', 'c']);
  });

  it.each([
    ['in one input', [], [call('c', 'call_1'), output('o', 'call_1'), output('again', 'call_1')]],
    ['in a later turn', [call('c', 'call_1'), output('o', 'call_1')], [output('again', 'call_1')]],
    ['with the first one', [call('c', 'call_1')], [output('o', 'call_1'), output('again', 'call_1')]],
  ])('a transcript refuses a second output of a call %s', (_, before, input) => {
    expect(() => Transcript.of(before).accept(input)).toThrow('The call with call_id call_1 already has its output.');
  });

  it('a transcript takes an output for each of several calls with one call_id, side by side and one after another', () => {
    const twice = Transcript.of([call('c1', 'call_1'), call('c2', 'call_1')]);
    const answered = twice.accept([output('o1', 'call_1'), output('o2', 'call_1')]);
    expect(ids(answered.append([call('c3', 'call_1')]).accept([output('o3', 'call_1')]))).toHaveLength(6);
    expect(ids(answered.accept([call('c4', 'call_1'), output('o4', 'call_1')]))).toHaveLength(6);
  });

  it('a transcript names outputs that were stored without their call, until that is there', () => {
    const stray = Transcript.of([output('o', 'call_1')]);
    expect(() => stray.accept([message('a')])).toThrow(
      'No tool call found for function call output with call_id call_1.',
    );
    expect(ids(stray.accept([call('c', 'call_1')]))).toEqual(['o', 'c']);
  });

  it('a transcript waits for every one of several calls', () => {
    const asked = Transcript.of([call('c1', 'call_1'), call('c2', 'call_2')]);
    expect(() => asked.accept([output('o1', 'call_1')])).toThrow('No tool output found for function call call_2.');
    expect(ids(asked.accept([output('o2', 'call_2'), output('o1', 'call_1')]))).toHaveLength(4);
  });

  it('a transcript pairs an output without call_id with nothing', () => {
    expect(ids(Transcript.of([]).accept([output('o', null)]))).toEqual(['o']);
  });

  it('a transcript does not take hosted calls for calls the client must answer', () => {
    const searched = Transcript.of([{ type: 'web_search_call', id: 'ws' }]);
    expect(ids(searched.accept([message('b')]))).toEqual(['ws', 'b']);
  });
});
