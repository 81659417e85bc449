// Slow: starts a browser.
import { expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { WrittenTurns } from '../support/held-turns.js';
import { describeConsole, KEY } from './use-console.js';

const OPTIONS = {
  providers: [ScriptedProvider],
  environment: { LIMIT_REQUESTS_PER_MINUTE: 100, LIMIT_CONCURRENT_TURNS: 5, API_KEYS: `red:${KEY},blue:blue-key` },
};

describeConsole('the view of what happens now', OPTIONS, (test) => {
  const card = (name: string) => test.page.getByRole('region', { name, exact: true });

  it('shows turns, lanes, background responses, limits and providers, follows them, and says why nothing could be cancelled', async () => {
    const modelTurns = new WrittenTurns(test.service.provider);
    const other = test.service.client({ apiKey: 'blue-key' }).responses.create({ model: 'of-another', input: 'Hi' });
    const foreign = await modelTurns.next();
    await test.enter();
    await test.page.getByLabel('Transport').selectOption('WebSocket');
    await test.say('Hello');
    const modelTurn = await modelTurns.next();
    const background = { model: 'scripted', input: 'Hi', background: true };
    const { id } = await test.service.client({ apiKey: KEY }).responses.create(background);
    const behind = await modelTurns.next();
    await test.open('Now');
    await card('Running turns').getByText('scripted, websocket, since').waitFor();
    await card('Running turns').getByText('scripted, background, since').waitFor();
    await card('Sockets').getByText('lane-1: 1 running, 0 queued').waitFor();
    await card('Background').getByText('in_progress').waitFor();
    await card('Limits').getByText('98 of 100 left').waitFor();
    await card('Limits').getByText('3 of 5 left').waitFor();
    await card('Providers').getByText('healthy').waitFor();
    expect(await test.page.getByText('of-another').count()).toBe(0);
    expect(await test.violations()).toEqual([]);
    const refusal = { error: { message: 'It cannot be cancelled now.' } };
    await test.page.route('**/cancel', (route) => route.fulfill({ status: 503, json: refusal }), { times: 1 });
    await card('Background')
      .getByRole('button', { name: `Cancel ${id}` })
      .click();
    await test.page.getByRole('alert').filter({ hasText: refusal.error.message }).waitFor();
    await card('Background')
      .getByRole('button', { name: `Cancel ${id}` })
      .click();
    await behind.stopped;
    await card('Background').getByText('Nothing runs or waits in the background.').waitFor();
    modelTurn.end({ type: 'text', delta: 'Hi' });
    await card('Running turns').getByText('No turn runs on this instance.').waitFor();
    foreign.end();
    await other;
  });

  it('the view of what happens now asks one question at a time, less often while there is no answer, and none while nobody looks', async () => {
    await test.holdClock();
    await test.enter();
    const asked: (() => Promise<void>)[] = [];
    let wake = Promise.withResolvers<undefined>();
    await test.page.route('**/v1/activity', (route) => {
      asked.push(() => route.abort());
      wake.resolve(undefined);
      wake = Promise.withResolvers();
    });
    const nextAsked = async (): Promise<(() => Promise<void>) | undefined> => {
      while (asked.length === 0) await wake.promise;
      return asked.shift();
    };
    await test.open('Now');
    const first = await nextAsked();
    await test.page.clock.runFor(120_000);
    expect(asked).toEqual([]);
    await first?.();
    await test.page.getByRole('alert').filter({ hasText: 'The service does not answer.' }).waitFor();
    await test.page.clock.runFor(5000);
    expect(asked).toEqual([]);
    await test.page.clock.runFor(1000);
    const second = await nextAsked();
    await test.page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })`);
    await second?.();
    await test.page.clock.runFor(600_000);
    expect(asked).toEqual([]);
    await test.page.evaluate(`delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))`);
    await (
      await nextAsked()
    )?.();
  });
});
