import type { DocumentText } from '../../documents/index.js';
import type { MadeFile, Part } from './turn-files.js';

/** A text as a part of a message. */
export function toTextPart(text: string): Part {
  return { type: 'input_text', text };
}

/** A document for a model that takes no files: its text with the numbers of its pages, or the images of its pages. */
export function toDocumentParts(name: string, { pages, images, isCut }: DocumentText): MadeFile {
  const label = JSON.stringify(name);
  const rest = isCut ? [`(The rest of ${label} was left out.)`] : [];
  if (images.length > 0) {
    const shown = images.flatMap(({ number, png }): readonly Part[] => [
      toTextPart(`<file name=${label} page="${number}"/>`),
      {
        type: 'input_image',
        image_url: `data:image/png;base64,${Buffer.from(png).toString('base64')}`,
        detail: 'auto',
      },
    ]);
    return counted([...shown, ...rest.map(toTextPart)]);
  }
  if (pages.every(({ text }) => text.trim() === '')) return counted([toTextPart(`(${label} has no text.)`)]);
  const texts = pages.map(({ number, text }) => `<file name=${label} page="${number}">\n${text}\n</file>`);
  return counted([toTextPart([...texts, ...rest].join('\n'))]);
}

function counted(parts: readonly Part[]): MadeFile {
  const values = parts.flatMap(({ text, image_url: image }) => [text, image]);
  return {
    parts,
    characters: values.reduce((sum: number, value) => sum + (typeof value === 'string' ? value.length : 0), 0),
  };
}
