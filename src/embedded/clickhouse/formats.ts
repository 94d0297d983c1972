/** How often the names (and types) are repeated at the head of each block of a stream; they must be sent once. */
export interface StreamFormat { readonly headerLines: 0 | 1 | 2; readonly quoted: boolean }

const plain: StreamFormat = { headerLines: 0, quoted: false };
const names: StreamFormat = { headerLines: 1, quoted: false };
const namesAndTypes: StreamFormat = { headerLines: 2, quoted: false };

// The engine's stream gives each block as a document of its own. These formats are nothing but rows (and perhaps a head), so that
// blocks can be put one behind the other; all others (JSON, Parquet, Arrow, Pretty, …) must be written as a whole.
const streamFormats: Readonly<Record<string, StreamFormat>> = {
  jsoneachrow: plain, jsonlines: plain, ndjson: plain, jsonstringseachrow: plain, prettyndjson: plain,
  jsoncompacteachrow: plain, jsoncompacteachrowwithnames: names, jsoncompacteachrowwithnamesandtypes: namesAndTypes,
  jsoncompactstringseachrow: plain, jsoncompactstringseachrowwithnames: names, jsoncompactstringseachrowwithnamesandtypes: namesAndTypes,
  tabseparated: plain, tsv: plain, tabseparatedraw: plain, tsvraw: plain, raw: plain,
  tabseparatedwithnames: names, tsvwithnames: names, tabseparatedwithnamesandtypes: namesAndTypes, tsvwithnamesandtypes: namesAndTypes,
  csv: plain, csvwithnames: { headerLines: 1, quoted: true }, csvwithnamesandtypes: { headerLines: 2, quoted: true },
  rowbinary: plain, native: plain, null: plain,
};

/** How the format can be streamed, undefined when it has to be written as a whole first. */
export function streamFormat(format: string): StreamFormat | undefined {
  return streamFormats[format.toLowerCase()];
}

/** The block without its repeated head. */
export function withoutHeader(block: Uint8Array, { headerLines, quoted }: StreamFormat): Uint8Array {
  let at = 0;
  let insideQuotes = false;
  for (let lines = 0; lines < headerLines && at < block.length; at += 1) {
    if (quoted && block[at] === 0x22) insideQuotes = !insideQuotes;
    if (block[at] === 0x0a && !insideQuotes) lines += 1;
  }
  return block.subarray(at);
}

export function contentType(format: string): string {
  const name = format.toLowerCase();
  if (/^(json|json(columns|compact|strings|compactstrings|compactcolumns|columnswithmetadata|objecteachrow))$/.test(name)) return 'application/json; charset=UTF-8';
  if (/^(json.*eachrow.*|jsonlines|ndjson)$/.test(name)) return 'application/x-ndjson; charset=UTF-8';
  if (/^(tabseparated|tsv)/.test(name)) return 'text/tab-separated-values; charset=UTF-8';
  if (name.startsWith('csv')) return `text/csv; charset=UTF-8; header=${name === 'csv' ? 'absent' : 'present'}`;
  if (/^(rowbinary|native|parquet|arrow|orc|avro|protobuf|msgpack|bson|capnproto|npy)/.test(name)) return 'application/octet-stream';
  if (name === 'xml') return 'application/xml; charset=UTF-8';
  return 'text/plain; charset=UTF-8';
}
