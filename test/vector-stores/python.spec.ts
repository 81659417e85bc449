import { expect } from '@jest/globals';

import { simulateEmbeddings } from '../../src/simulator/simulated-embeddings.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { itInPython } from '../support/tests-with-programs.js';
import { call, say } from '../support/scripted-calls.js';

const service = useService({ providers: [ScriptedProvider] });

const SCRIPT = `
import io, json, sys
from openai import OpenAI, BadRequestError, NotFoundError
client = OpenAI(base_url=sys.argv[1], api_key="unused", max_retries=0)
store = client.vector_stores.create(name="Rules", expires_after={"anchor": "last_active_at", "days": 7})
texts = [("leave.txt", b"Employees have thirty days of leave a year."), ("travel.txt", b"Trains are booked in second class.")]
batch = client.vector_stores.file_batches.upload_and_poll(
    store.id, files=[(name, io.BytesIO(text)) for name, text in texts], poll_interval_ms=5)
leave = client.vector_stores.search(store.id, query="days of leave", max_num_results=1).data[0]
client.vector_stores.files.update(leave.file_id, vector_store_id=store.id, attributes={"year": 2026})
filters = {"type": "eq", "key": "year", "value": 2026}
filtered = [each.filename for each in client.vector_stores.search(store.id, query=["leave", "trains"], filters=filters)]
content = [each.text for each in client.vector_stores.files.content(leave.file_id, vector_store_id=store.id)]
response = client.responses.create(
    model="scripted", input="How much leave?", tools=[{"type": "file_search", "vector_store_ids": [store.id]}])
cited = [each.filename for each in response.output[-1].content[0].annotations]
try:
    client.vector_stores.file_batches.create(store.id, files=[])
    refused = None
except BadRequestError as error:
    refused = error.param
deleted = client.vector_stores.delete(store.id).deleted
try:
    client.vector_stores.retrieve(store.id)
    gone = False
except NotFoundError:
    gone = True
print(json.dumps([batch.status, batch.file_counts.completed, leave.filename, filtered, content, response.output_text, cited, refused, deleted, gone]))
`;

itInPython('openai-python fills, searches and cites vector stores', async (run) => {
  service.provider.embed = async (request) => simulateEmbeddings(request);
  service.provider.reply(...call('file_search', { queries: ['leave'] })).reply(...say('Thirty days【f1】.'));
  expect(await run(SCRIPT, service.baseURL)).toEqual([
    ...['completed', 2, 'leave.txt', ['leave.txt'], ['Employees have thirty days of leave a year.']],
    ...['Thirty days.', ['leave.txt'], 'files', true, true],
  ]);
});
