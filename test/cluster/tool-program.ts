import { createApp, Environment, type FinishedPass, listenAddress, PassPolicy, type TurnPolicy } from 'antiphon';

/** Runs the calls of the function `look_up` by asking TOOL_URL. */
class LookUp extends PassPolicy {
  override begin(): TurnPolicy {
    return { answer: (pass) => this.answer(pass) };
  }

  private async answer({ output, signal }: FinishedPass) {
    const calls = output.filter(({ type, name }) => type === 'function_call' && name === 'look_up');
    return Promise.all(
      calls.map(async ({ call_id, arguments: json }) => {
        const found = await fetch(process.env['TOOL_URL'] ?? '', { method: 'POST', body: String(json), signal });
        return { type: 'function_call_output', call_id, output: await found.text() };
      }),
    );
  }
}

const app = await createApp({ passPolicies: [{ useValue: new LookUp() }] });
const environment = app.get(Environment);
await app.listen(environment.PORT, listenAddress(environment));
process.stdout.write(`the program listens on ${await app.getUrl()}\n`);
