import { describe, expect, it } from '@jest/globals';

import { callChunk, chunk, completion, entry, finish, type StreamData, streamOf } from './chunk-stream.js';
import { MODEL, sendTurn, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { ServiceLog } from '../support/service-log.js';
import { useFreshService, useService } from '../support/describe-service.js';
import { TRANSPORTS } from '../support/transports.js';

const PNG = 'iVBORw0KGgo=';
const url = `data:image/png;base64,${PNG}`;
const IMAGE = { type: 'image_url', image_url: { url } };
const SHOWN = { type: 'image_generation_call', status: 'completed', result: PNG, output_format: 'png' };

const CITED = { type: 'url_citation', url: 'https://one.example/', title: 'One', start_index: 6, end_index: 9 };
const { type, ...citation } = CITED;
const CITATION = { type, url_citation: citation };
const OTHER = { ...CITED, url: 'https://two.example/', title: '', start_index: 0, end_index: 0 };

const PAGES = { citations: [CITED.url, OTHER.url], search_results: [{ url: CITED.url, title: 'One', date: null }] };
const PIECES = [chunk({ content: 'Found ' }), chunk({ content: '[1].' })];
const TEXT = 'Found [1].';
const message = (...annotations: readonly object[]): object => ({
  type: 'message',
  status: 'completed',
  content: [{ type: 'output_text', text: TEXT, annotations }],
});
const THOUGHT = { type: 'reasoning', content: [{ text: 'Look.' }] };
const CALL = entry('look', '{}', { id: 'call_one', index: 0 });

const CASES: readonly (readonly [what: string, data: readonly StreamData[], output: readonly object[]])[] = [
  ['an image behind the text', [...PIECES, chunk({ images: [IMAGE] })], [message(), SHOWN]],
  ['an image within the text', [PIECES[0] ?? {}, chunk({ images: [IMAGE] }), PIECES[1] ?? {}], [message(), SHOWN]],
  ['an image alone', [chunk({ content: '', images: [IMAGE] })], [SHOWN]],
  ['an image as a part of the content', [...PIECES, chunk({ content: [IMAGE] })], [message(), SHOWN]],
  ['an image by its data', [chunk({ images: [{ b64_json: PNG }] }), ...PIECES], [SHOWN, message()]],
  [
    'an image within reasoning',
    [chunk({ reasoning: 'Look.' }), chunk({ images: [IMAGE] }), ...PIECES],
    [THOUGHT, SHOWN, message()],
  ],
  [
    'an image that comes again with the whole message',
    [...PIECES, chunk({ images: [IMAGE] }), completion({ content: TEXT, images: [IMAGE] })],
    [message(), SHOWN],
  ],
  [
    'an image that only the whole message has',
    [...PIECES, completion({ content: TEXT, images: [IMAGE] })],
    [message(), SHOWN],
  ],
  [
    'pages that come one by one',
    [
      { ...PIECES[0], citations: [CITED.url], search_results: [{ url: CITED.url, title: 'One' }] },
      { ...PIECES[1], citations: [OTHER.url], search_results: [] },
    ],
    [message(CITED, OTHER)],
  ],
  [
    'pages that come one by one, each alone',
    [
      { ...PIECES[0], search_results: [{ url: CITED.url, title: 'One' }] },
      { ...PIECES[1], search_results: [{ url: OTHER.url }] },
    ],
    [message(CITED, OTHER)],
  ],
  ['a citation', [...PIECES, chunk({ annotations: [CITATION] })], [message(CITED)]],
  [
    'a citation whose places are no numbers of characters',
    [...PIECES, chunk({ annotations: [{ ...OTHER, start_index: 'abc', end_index: -1 }] })],
    [message(OTHER)],
  ],
  ['a citation in the form of the Responses API', [...PIECES, chunk({ annotations: [CITED] })], [message(CITED)]],
  [
    'a citation that comes again, and a new one',
    [...PIECES, chunk({ annotations: [CITATION] }), completion({ content: TEXT, annotations: [CITATION, OTHER] })],
    [message(CITED, OTHER)],
  ],
  ['the pages of a search, in every chunk', PIECES.map((each) => ({ ...each, ...PAGES })), [message(CITED, OTHER)]],
  ['the pages of a search, in a chunk of their own', [...PIECES, { choices: [], ...PAGES }], [message(CITED, OTHER)]],
  ['the pages of a search, in the delta', [...PIECES, chunk(PAGES)], [message(CITED, OTHER)]],
  [
    'the pages of a search, and calls',
    [...PIECES, { ...callChunk([CALL]), ...PAGES }],
    [message(CITED, OTHER), { type: 'function_call', name: 'look' }],
  ],
  ['the pages of a search that are objects', [...PIECES, chunk({ citations: [CITED] })], [message(CITED)]],
  [
    'the pages of a search and citations of them',
    [...PIECES, chunk({ annotations: [CITATION] }), chunk({ citations: [CITED] })],
    [message(CITED)],
  ],
  [
    'something else',
    [...PIECES, chunk({ images: 'none', annotations: [{ type: 'file' }], citations: 7 })],
    [message()],
  ],
];

describe('what an upstream answers beside its text', () => {
  const service = useService(() => startChatService({ provider: { retries: 0 } }));

  describe.each(TRANSPORTS)('over $name', (transport) => {
    it.each(CASES)(
      'what an upstream answers beside its text becomes an item or an annotation: %s',
      async (_, data, output) => {
        service.upstream.replay(streamOf([...data, finish()]));
        const { response } = await transport.run(service, { model: MODEL, input: 'Go on.' });
        expect(response.status).toBe('completed');
        expect(response['output']).toMatchObject(output);
        expect(response['output']).toHaveLength(output.length);
      },
    );
  });

  it('what an upstream answers beside its text becomes an item or an annotation in a JSON document as well', async () => {
    service.upstream.replay(JSON.stringify(completion({ content: TEXT, images: [IMAGE] }, {}, PAGES)));
    const { response } = await sendTurn(service);
    expect(response['output']).toMatchObject([message(CITED, OTHER), SHOWN]);
  });
});

describe('an image by its address', () => {
  const service = useFreshService(() => startChatService({ provider: { retries: 0 } }));

  it('an image by its address cannot be shown, which the log says once', async () => {
    using log = ServiceLog.begin();
    const images = [{ type: 'image_url', image_url: { url: 'https://images.example/1.png' } }];
    for (const data of [PIECES, [...PIECES, chunk({ images })], [...PIECES, chunk({ images })]]) {
      service.upstream.replay(streamOf([...data, finish()]));
      const { response } = await sendTurn(service);
      expect(response['output']).toMatchObject([message()]);
    }
    expect(log.complaints).toEqual([expect.stringContaining('images by their addresses')]);
  });
});
