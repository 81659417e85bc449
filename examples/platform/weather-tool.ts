import { Injectable } from '@nestjs/common';

import { type FinishedPass, PassPolicy, type TurnPolicy } from 'antiphon';

@Injectable()
export class WeatherTool extends PassPolicy {
  private readonly url = process.env['WEATHER_URL'] ?? 'http://127.0.0.1:9001';

  override begin(): TurnPolicy {
    return { answer: (pass) => this.answer(pass) };
  }

  private async answer({ output, signal }: FinishedPass) {
    const calls = output.filter(({ type, name }) => type === 'function_call' && name === 'get_weather');
    return Promise.all(
      calls.map(async ({ call_id, arguments: json }) => {
        const report = await fetch(this.url, { method: 'POST', body: String(json), signal });
        return { type: 'function_call_output', call_id, output: await report.text() };
      }),
    );
  }
}
