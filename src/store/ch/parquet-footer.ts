/** Reads Thrift's compact protocol as far as a Parquet footer needs it. */
class CompactReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#at = 0;
  }

  byte(): number {
    const value = this.#bytes[this.#at];
    if (value === undefined) throw new RangeError('the Parquet footer ends too early');
    this.#at += 1;
    return value;
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('a number in the Parquet footer is too long');
  }

  skip(type: number): void {
    if (type === 3) this.byte();
    else if (type >= 4 && type <= 6) this.varint();
    else if (type === 7) this.#skipBytes(8);
    else if (type === 8) this.#skipBytes(Number(this.varint()));
    else if (type === 9 || type === 10) this.#skipList();
    else if (type === 12) this.#skipStruct();
    else if (type !== 1 && type !== 2) throw new RangeError('an unknown type in the Parquet footer');
  }

  #skipBytes(count: number): void {
    this.#at += count;
  }

  #skipList(): void {
    const head = this.byte();
    const length = head >> 4 === 15 ? Number(this.varint()) : head >> 4;
    const type = head & 0x0f;
    // Booleans have their value in the field header, but take a byte inside a list.
    for (let index = 0; index < length; index += 1) this.skip(type === 1 || type === 2 ? 3 : type);
  }

  #skipStruct(): void {
    for (let head = this.byte(); head !== 0; head = this.byte()) {
      if (head >> 4 === 0) this.varint();
      this.skip(head & 0x0f);
    }
  }
}

export const parquetMagic = 'PAR1';

/**
 * Number of rows, from the footer at the end of a Parquet file (field 3 of FileMetaData).
 * @param tail the last bytes of the file, at least its whole footer
 * @throws RangeError when the file does not end as a complete one does
 */
export function parquetRows(tail: Buffer): number {
  if (tail.length < 8 || tail.toString('latin1', tail.length - 4) !== parquetMagic) throw new RangeError('the Parquet file is cut off');
  const footerBytes = tail.readUInt32LE(tail.length - 8);
  if (footerBytes + 8 > tail.length) throw new RangeError('the Parquet footer is larger than expected');
  const reader = new CompactReader(tail.subarray(tail.length - 8 - footerBytes, tail.length - 8));
  let field = 0;
  for (let head = reader.byte(); head !== 0; head = reader.byte()) {
    field = head >> 4 === 0 ? Number(reader.varint() >> 1n) : field + (head >> 4);
    if (field === 3) return Number(reader.varint() >> 1n);
    reader.skip(head & 0x0f);
  }
  throw new RangeError('the Parquet footer names no number of rows');
}
