// Slow: starts a browser.
import { expect, it } from '@jest/globals';

import type { ModelEvent } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { WrittenTurns } from '../support/held-turns.js';
import { describeConsole, KEY } from './use-console.js';

const text = (delta: string): ModelEvent => ({ type: 'text', delta });

describeConsole('a turn that runs, in the console', { providers: [ScriptedProvider] }, (test) => {
  async function begin(): Promise<WrittenTurns> {
    test.service.provider.isSteerable = true;
    const modelTurns = new WrittenTurns(test.service.provider);
    await test.enter();
    await test.page.getByLabel('Transport').selectOption('WebSocket');
    return modelTurns;
  }
  async function askInBackground(
    modelTurns: WrittenTurns,
    transport: 'JSON' | 'SSE',
  ): ReturnType<WrittenTurns['next']> {
    await test.page.getByLabel('Transport').selectOption(transport);
    await test.page.getByText('Options').click();
    await test.page.getByLabel('Background').check();
    await test.say('Left or right?');
    return modelTurns.next();
  }
  const texts = (): Promise<readonly string[]> => test.page.locator('article .message').allInnerTexts();

  it('the console steers a response: its output, the steer and the output of its successor are shown in this order', async () => {
    const modelTurns = await begin();
    await test.say('Left or right?');
    const first = await modelTurns.next();
    first.write(text('Right'));
    await test.page.getByText('Right', { exact: true }).waitFor();
    await test.page.getByLabel('Message').fill('Left!');
    await test.page.getByRole('button', { name: 'Steer' }).click();
    await first.stopped;
    (await modelTurns.next()).end(text('Left it is'));
    await test.completed(1);
    expect((await texts()).map((shown) => shown.replace(/\s+/g, ' '))).toEqual([
      'You Left or right?',
      'Model Right',
      'You Left!',
      'Model Left it is',
    ]);
  });

  it('the console shows the answer to a steer in its turn also when the model was faster, and that of the next turn in the next', async () => {
    const modelTurns = await begin();
    // The response ends normally (protocol §6.8), which a model that is faster than a steer cannot be made to do.
    await test.page.routeWebSocket(/responses$/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((message) =>
        socket.send(
          String(message)
            .replace('"type":"response.incomplete"', '"type":"response.completed"')
            .replace('"incomplete_details":{"reason":"steered"}', '"incomplete_details":null'),
        ),
      );
    });
    await test.say('Left or right?');
    const first = await modelTurns.next();
    first.write(text('Right'));
    await test.page.getByText('Right', { exact: true }).waitFor();
    await test.say('Left!');
    await first.stopped;
    (await modelTurns.next()).end(text('Left it is'));
    await test.completed(1);
    await test.say('And then?');
    (await modelTurns.next()).end(text('Straight on'));
    await test.completed(2);
    const articles = await test.page.locator('article').allInnerTexts();
    expect(articles).toEqual([expect.stringContaining('Left it is'), expect.stringContaining('Straight on')]);
    expect(articles[1]).not.toContain('Left it is');
  });

  it('the console gives a steer back to its writer when the response has ended meanwhile', async () => {
    const modelTurns = await begin();
    // The end of the response reaches the page behind its steer.
    const ended = Promise.withResolvers<undefined>();
    const steered = Promise.withResolvers<undefined>();
    await test.page.routeWebSocket(/responses$/, (socket) => {
      const server = socket.connectToServer();
      let last = Promise.resolve();
      server.onMessage((message) => {
        const isEnd = String(message).includes('"type":"response.completed"');
        if (isEnd) ended.resolve(undefined);
        last = last.then(() => (isEnd ? steered.promise : undefined)).then(() => socket.send(message));
      });
      socket.onMessage((message) => {
        server.send(message);
        if (String(message).includes('"response.steer"')) steered.resolve(undefined);
      });
    });
    await test.say('Left or right?');
    const first = await modelTurns.next();
    first.write(text('Right'));
    await test.page.getByText('Right', { exact: true }).waitFor();
    first.end();
    await ended.promise;
    await test.say('Left!');
    await test.completed(1);
    await test.page.getByRole('alert').filter({ hasText: 'The response has ended' }).waitFor();
    expect(await test.page.getByLabel('Message').inputValue()).toBe('Left!');
  });

  it('the console interrupts a response, and keeps what is complete', async () => {
    const modelTurns = await begin();
    await test.say('Left or right?');
    const modelTurn = await modelTurns.next();
    modelTurn.write(text('Right'));
    await test.page.getByText('Right', { exact: true }).waitFor();
    await test.page.getByRole('button', { name: 'Interrupt' }).click();
    await test.page.getByText(/^incomplete/).waitFor();
    await modelTurn.stopped;
    expect(await test.page.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true);
  });

  it('the console keeps what is written while a turn over HTTP runs, and cancels that turn', async () => {
    const modelTurns = await begin();
    await test.page.getByLabel('Transport').selectOption('SSE');
    await test.say('Left or right?');
    const modelTurn = await modelTurns.next();
    modelTurn.write(text('Right'));
    await test.page.getByText('Right', { exact: true }).waitFor();
    await test.say('Left!');
    expect(await test.page.getByLabel('Message').inputValue()).toBe('Left!');
    await test.page.getByRole('button', { name: 'Cancel' }).click();
    await test.page.getByText('Cancelled.').waitFor();
    await modelTurn.stopped;
    expect(await test.page.locator('article').count()).toBe(1);
  });

  it('the console runs two lanes side by side on one socket', async () => {
    const modelTurns = await begin();
    await test.page.getByRole('button', { name: 'Two lanes' }).click();
    const [left, right] = [
      test.page.getByLabel('Lane 1', { exact: true }),
      test.page.getByLabel('Lane 2', { exact: true }),
    ];
    await right.getByLabel('Transport').selectOption('WebSocket');
    await test.say('Left');
    const first = await modelTurns.next();
    await right.getByLabel('Message').fill('Right');
    await right.getByLabel('Message').press('Enter');
    const second = await modelTurns.next();
    second.end(text('the second'));
    await right.getByText(/^completed/).waitFor();
    first.end(text('the first'));
    await left.getByText(/^completed/).waitFor();
    expect([await left.locator('.assistant').innerText(), await right.locator('.assistant').innerText()]).toEqual([
      expect.stringContaining('the first'),
      expect.stringContaining('the second'),
    ]);
    const { body } = await test.service.api.with({ 'x-api-key': KEY }).get('connections');
    expect(body['data']).toEqual([expect.objectContaining({ lanes: [expect.anything(), expect.anything()] })]);
  });

  it('the console leaves a background response, and reads on behind the last event when it is attached again', async () => {
    const modelTurns = await begin();
    const modelTurn = await askInBackground(modelTurns, 'SSE');
    modelTurn.write(text('Right'));
    await test.page.getByText('Right', { exact: true }).waitFor();
    await test.page.getByRole('button', { name: 'Detach' }).click();
    await test.page.getByRole('button', { name: 'Attach again' }).waitFor();
    modelTurn.write(text(', or left'));
    await test.page.getByRole('button', { name: 'Attach again' }).click();
    await test.page.getByText('Right, or left', { exact: true }).waitFor();
    modelTurn.end();
    await test.completed(1);
    await test.page.getByText(/^Events/).click();
    const rows = await test.page.locator('.event').allInnerTexts();
    expect(rows.map((row) => Number.parseInt(row, 10))).toEqual(rows.map((_, index) => index));
  });

  it('the console cancels a background response whose id has not come yet', async () => {
    const modelTurns = await begin();
    const asked = Promise.withResolvers<undefined>();
    await test.page.route('**/v1/responses', async (route) => {
      const response = await route.fetch();
      await asked.promise;
      await route.fulfill({ response });
    });
    const modelTurn = await askInBackground(modelTurns, 'JSON');
    await test.page.getByRole('button', { name: 'Cancel' }).click();
    asked.resolve(undefined);
    await test.page.getByText('Cancelled.').waitFor();
    await modelTurn.stopped;
  });

  it('the console cancels a background response', async () => {
    const modelTurns = await begin();
    const modelTurn = await askInBackground(modelTurns, 'JSON');
    await test.page.getByRole('button', { name: 'Cancel' }).click();
    await test.page.getByText('Cancelled.').waitFor();
    await modelTurn.stopped;
    const { data } = (await test.service.api.with({ 'x-api-key': KEY }).get('responses?limit=1')).body;
    expect(data).toMatchObject([{ status: 'cancelled' }]);
  });
});
