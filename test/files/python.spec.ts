import { expect } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { itInPython } from '../support/tests-with-programs.js';

const service = useService({ providers: [ScriptedProvider] });

const SCRIPT = `
import io, json, sys
from openai import OpenAI, NotFoundError
client = OpenAI(base_url=sys.argv[1], api_key="unused", max_retries=0)
file = client.files.create(file=("note.txt", io.BytesIO(b"Bees dance.")), purpose="user_data")
part = {"type": "input_file", "file_id": file.id}
client.responses.create(model="scripted", input=[{"role": "user", "content": [part]}])
content = client.files.content(file.id).read().decode()
listed = [each.id for each in client.files.list()] == [file.id]
upload = client.uploads.upload_file_chunked(
    file=b"x" * 2500, filename="x.txt", bytes=2500, mime_type="text/plain", purpose="user_data", part_size=1000)
deleted = client.files.delete(file.id).deleted
try:
    client.files.retrieve(file.id)
    gone = False
except NotFoundError:
    gone = True
print(json.dumps([file.status, content, listed, upload.status, upload.file.bytes, deleted, gone]))
`;

itInPython('openai-python stores, uploads, gives and deletes files', async (run) => {
  expect(await run(SCRIPT, service.baseURL)).toEqual(['processed', 'Bees dance.', true, 'completed', 2500, true, true]);
  const file_data = `data:text/plain;base64,${Buffer.from('Bees dance.').toString('base64')}`;
  const content = [{ type: 'input_file', filename: 'note.txt', file_data }];
  expect(service.provider.turns.at(-1)?.context).toEqual([expect.objectContaining({ content })]);
});
