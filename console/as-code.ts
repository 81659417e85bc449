import type { Json } from './api.ts';
import type { Asked } from './turn.ts';

/** The turn that was sent, in the languages that most clients use. The key is read from the environment. */
export function asCode({ transport, body }: Asked, base: string): ReadonlyMap<string, string> {
  const json = JSON.stringify(body, null, 2);
  const js = `import OpenAI from 'openai';\n`;
  const jsClient = `const client = new OpenAI({ baseURL: ${JSON.stringify(base)}, apiKey: process.env.API_KEY ?? 'unused' });\n`;
  if (transport === 'websocket') {
    const frame = JSON.stringify({ type: 'response.create', ...body }, null, 2);
    const text = `${js}import { ResponsesWS } from 'openai/resources/responses/ws';\n\n${jsClient}const ws = new ResponsesWS(client);\nws.on('event', (event) => console.log(event));\nws.send(${frame});\n`;
    return new Map([['JavaScript', text]]);
  }
  const isStream = body['stream'] === true;
  const curl = `curl ${isStream ? '-N ' : ''}${base}/responses -H "authorization: Bearer $API_KEY" -H 'content-type: application/json' \\\n  -d '${json.replaceAll("'", String.raw`'\''`)}'\n`;
  const read = isStream
    ? 'for await (const event of answer) console.log(event);\n'
    : 'console.log(answer.output_text);\n';
  const pythonRead = isStream ? 'for event in answer:\n    print(event)\n' : 'print(answer.output_text)\n';
  const members = Object.entries(body).map(([name, value]) => `    ${name}=${toPython(value)},\n`);
  return new Map([
    ['curl', curl],
    ['JavaScript', `${js}\n${jsClient}const answer = await client.responses.create(${json});\n${read}`],
    [
      'Python',
      `import os\nfrom openai import OpenAI\n\nclient = OpenAI(base_url=${JSON.stringify(base)}, api_key=os.environ.get("API_KEY", "unused"))\nanswer = client.responses.create(\n${members.join('')})\n${pythonRead}`,
    ],
  ]);
}

function toPython(value: Json): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(toPython).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${toPython(member)}`);
  return `{${members.join(', ')}}`;
}
