/** Puts a text between the lines `<!-- generated: NAME … -->` and `<!-- end of generated text -->`. Throws an Error without them. */
export function replaceGenerated(page: string, name: string, text: string): string {
  const begin = new RegExp(`^<!-- generated: ${name}\\b.*-->$`, 'm').exec(page);
  const end = begin === null ? -1 : page.indexOf(END, begin.index);
  if (begin === null || end === -1) throw new Error(`no lines '<!-- generated: ${name} -->' and '${END}'`);
  return `${page.slice(0, begin.index)}${begin[0]}\n\n${text}\n\n${page.slice(end)}`;
}

const END = '<!-- end of generated text -->';
