/** A PDF with two pages that only shows these pictures, each grey and twice as wide as high; `bits`: of a pixel. */
export function scannedPdf(bits: 1 | 8, ...pictures: readonly Buffer[]): Uint8Array {
  const height = bits === 8 ? Math.sqrt((pictures[0]?.length ?? 0) / 2) : 8;
  const content = pictures.map((_, index) => `q 600 0 0 300 0 0 cm /I${index} Do Q`).join(' ');
  const names = pictures.map((_, index) => `/I${index} ${5 + index} 0 R`).join('');
  const page = `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 300]/Resources<</XObject<<${names}>>>>/Contents 4 0 R>>`;
  const head = Buffer.from(`%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R 9 0 R]/Count 2>> endobj
3 0 obj ${page} endobj
9 0 obj ${page} endobj
4 0 obj <</Length ${content.length}>> stream\n${content}\nendstream endobj\n`);
  const objects = pictures.map((pixels, index) =>
    Buffer.concat([
      Buffer.from(`${5 + index} 0 obj <</Type/XObject/Subtype/Image/Width ${2 * height}/Height ${height}/ColorSpace/DeviceGray
/BitsPerComponent ${bits}/Length ${pixels.length}>> stream\n`),
      pixels,
      Buffer.from('\nendstream endobj\n'),
    ]),
  );
  return new Uint8Array(Buffer.concat([head, ...objects, Buffer.from('trailer <</Root 1 0 R>>\n%%EOF')]));
}
