/** What a document says. */
export interface DocumentText {
  /** Null where it states none. */
  readonly title: string | null;
  /** The pages of the document from 1. What has no pages is one. */
  readonly pages: readonly DocumentPage[];
  /** Whether something was left out, beyond the most pages, images or characters. */
  readonly isCut: boolean;
  /** Pictures of pages, where images were asked for and no page has text; otherwise empty. */
  readonly images: readonly PageImage[];
}

/** A page of a document. */
export interface DocumentPage {
  readonly number: number;
  readonly text: string;
}

/** A page as a picture. */
export interface PageImage {
  readonly number: number;
  readonly png: Uint8Array;
}
