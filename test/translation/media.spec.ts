import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { refusedValue, Translation } from '../support/translation/translation.js';
import { functionCall, functionOutput, user } from '../support/translation/user-items.js';

const URL = 'https://example.com/a.png';
const DATA_URL = 'data:image/png;base64,iVBORw0KGgo=';
const PDF = 'data:application/pdf;base64,JVBERi0=';

const image = (members: object = { image_url: URL }): object => ({ type: 'input_image', ...members });
const file = (members: object): object => ({ type: 'input_file', ...members });
const audio = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } };

describe('pictures, files and sounds for an upstream', () => {
  let translation: Translation;

  beforeAll(async () => {
    translation = await Translation.start({
      blind: { capabilities: { images: false } },
      deaf: { capabilities: { audio: false } },
      fileless: { capabilities: { files: false } },
      tolerant: { tolerates: ['images'] },
    });
  });

  afterAll(() => translation.close());

  it.each<[string, object, object]>([
    ['by their address', { image_url: URL }, { url: URL }],
    ['by their data', { image_url: DATA_URL }, { url: DATA_URL }],
    ['with detail auto', { image_url: URL, detail: 'auto' }, { url: URL, detail: 'auto' }],
    ['with detail low', { image_url: URL, detail: 'low' }, { url: URL, detail: 'low' }],
    ['with detail high', { image_url: URL, detail: 'high' }, { url: URL, detail: 'high' }],
    [
      'with detail original, for which there is no better word',
      { image_url: URL, detail: 'original' },
      { url: URL, detail: 'high' },
    ],
    ['without the detail that is null', { image_url: URL, detail: null }, { url: URL }],
  ])('pictures are sent %s', async (_, members, sent) => {
    const input = [
      user([{ type: 'input_text', text: 'Look.' }, image(members), { type: 'input_text', text: 'Well?' }]),
    ];
    expect(await translation.messages({ input })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image_url', image_url: sent },
          { type: 'text', text: 'Well?' },
        ],
      },
    ]);
  });

  it.each<[string, object, object]>([
    ['data', { file_data: PDF, filename: 'a.pdf' }, { file_data: PDF, filename: 'a.pdf' }],
    ['data without a name', { file_data: PDF }, { file_data: PDF }],
    ['an id of the upstream', { file_id: 'file-1' }, { file_id: 'file-1' }],
  ])('media are sent as files: %s', async (_, members, sent) => {
    expect(await translation.messages({ input: [user([file(members)])] })).toEqual([
      { role: 'user', content: [{ type: 'file', file: sent }] },
    ]);
  });

  it('sounds are sent as sounds', async () => {
    expect(await translation.messages({ input: [user([audio])] })).toEqual([{ role: 'user', content: [audio] }]);
  });

  it('sounds are sent from data URLs', async () => {
    const part = { type: 'input_audio', audio_url: 'data:audio/wav;base64,UklGRg==' };
    expect(await translation.messages({ input: [user([part])] })).toEqual([{ role: 'user', content: [audio] }]);
  });

  it.each<[string, string, object, string]>([
    ['pictures', 'blind', image(), 'This model does not support images.'],
    ['sounds', 'deaf', audio, 'This model does not support audio.'],
    [
      'pictures by id',
      'generic',
      image({ file_id: 'file-1' }),
      "This model supports images by 'image_url' only, not by file_id.",
    ],
    ['pictures without anything', 'tolerant', image({}), "This model supports images by 'image_url' only."],
  ])('media are refused where they cannot be sent: %s', async (_, model, part, message) => {
    expect(await translation.refusal({ model, input: [user([part])] })).toEqual(refusedValue('input', message));
  });

  it('files are refused that neither the model nor the service can read', async () => {
    expect(await translation.refusal({ model: 'fileless', input: [user([file({ file_data: PDF })])] })).toEqual({
      status: 400,
      error: {
        type: 'invalid_request_error',
        code: 'invalid_value',
        param: 'input[0].content[0]',
        message: expect.stringMatching(
          /^Invalid 'input\[0\]\.content\[0\]': this model takes text only, and 'file' cannot be read: The document cannot be read: [^.]+\.$/,
        ),
      },
      wasAsked: false,
    });
  });

  it('media in the past are refused just the same', async () => {
    const { response } = await translation.turn({ input: [user([image()])] });
    const refused = refusedValue('input', 'This model does not support images.');
    expect(await translation.refusal({ model: 'blind', previous_response_id: response.id })).toEqual(refused);
  });

  it('media in outputs of tools are only named where they cannot be sent: the conversation has to go on', async () => {
    const output = [{ type: 'input_text', text: 'Here:' }, image()];
    const input = [functionCall('call_1', 'look'), functionOutput('call_1', output)];
    const messages = await translation.messages({ model: 'blind', input });
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool']);
    expect(messages[1]?.['content']).toMatch(/^Here:\n.*input_image/);
  });

  it('media are taken by upstreams that lack something else', async () => {
    await translation.sent({ model: 'blind', input: [user([audio, file({ file_data: PDF })])] });
    await translation.sent({ model: 'deaf', input: [user([image(), file({ file_data: PDF })])] });
    await translation.sent({ model: 'fileless', input: [user([image(), audio])] });
    expect(translation.upstream.requests.slice(-3).map(({ body }) => body.messages?.length)).toEqual([1, 1, 1]);
  });
});
