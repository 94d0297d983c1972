import { fromJson } from '@bufbuild/protobuf';
import { isReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { CelValue } from '@bufbuild/cel';
import { celList, celUint, isCelList, isCelMap, isCelType, isCelUint } from '@bufbuild/cel';
import { literalMapView, plainKey } from '../../../src/policy/cel/views.ts';
import type { MapKey } from '../../../src/policy/cel/views.ts';
import type { CelType } from '../../../src/policy/cel/types.ts';
import { listOf, mapOf, types } from '../../../src/policy/cel/types.ts';

/** A value of the suite's JSON form (`cel.expr.Value`). Only what needs no protobuf message. */
export type SuiteValue = Readonly<Record<string, unknown>>;

/** The suite's value as one that expressions read. */
export function valueOf(value: SuiteValue): CelValue {
  const [kind, inner] = Object.entries(value)[0] ?? ['nullValue', null];
  switch (kind) {
    case 'int64Value':
      return BigInt(inner as string);
    case 'uint64Value':
      return celUint(BigInt(inner as string));
    case 'doubleValue':
      return Number(inner);
    case 'bytesValue':
      return new Uint8Array(Buffer.from(inner as string, 'base64'));
    case 'nullValue':
      return null;
    case 'listValue':
      return celList(((inner as { values?: SuiteValue[] }).values ?? []).map(valueOf));
    case 'mapValue': {
      const entries = ((inner as { entries?: { key: SuiteValue; value: SuiteValue }[] }).entries ?? []).map(({ key, value: entry }) => {
        const mapKey = valueOf(key) as MapKey;
        return [plainKey(mapKey), [mapKey, valueOf(entry)]] as const;
      });
      return literalMapView(new Map(entries as [string, readonly [MapKey, CelValue]][]));
    }
    case 'objectValue': {
      const { '@type': type, value: text } = inner as { '@type': string; value: string };
      if (type.endsWith('Timestamp')) return reflect(TimestampSchema, fromJson(TimestampSchema, text));
      return reflect(DurationSchema, fromJson(DurationSchema, text));
    }
    default:
      return inner as CelValue;
  }
}

/** One text for equal values of the same types, so that `1` and `1.0` differ. */
export function canonical(value: CelValue): string {
  if (typeof value === 'bigint') return `int ${value}`;
  if (typeof value === 'number') return `double ${Object.is(value, -0) ? 0 : value}`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (value === null || typeof value === 'boolean') return String(value);
  if (isCelUint(value)) return `uint ${value.value}`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  if (isCelType(value)) return `type ${value.name}`;
  if (isCelList(value)) return `[${Array.from(value, canonical).join(', ')}]`;
  if (isCelMap(value)) return `{${Array.from(value.keys(), (key) => `${canonical(key)}: ${canonical(value.get(key) as CelValue)}`).sort().join(', ')}}`;
  if (isReflectMessage(value)) {
    const { seconds, nanos } = value.message as Timestamp | Duration;
    return `${value.desc.typeName} ${seconds} ${nanos}`;
  }
  throw new Error('a value of no known kind');
}

export function canonicalSuite(value: SuiteValue): string {
  return 'typeValue' in value ? `type ${String(value['typeValue'])}` : canonical(valueOf(value));
}

/** A declared type (`cel.expr.Type`); undefined for messages, wrappers and abstract types. */
export function typeOfSuite(type: Readonly<Record<string, unknown>>): CelType | undefined {
  const primitives: Readonly<Record<string, CelType>> = { BOOL: types.bool, INT64: types.int, UINT64: types.uint, DOUBLE: types.double, STRING: types.string, BYTES: types.bytes };
  const wellKnown: Readonly<Record<string, CelType>> = { TIMESTAMP: types.timestamp, DURATION: types.duration };
  if ('primitive' in type) return primitives[type['primitive'] as string];
  if ('wellKnown' in type) return wellKnown[type['wellKnown'] as string];
  if ('dyn' in type) return types.dyn;
  if ('null' in type) return types.null;
  const { elemType } = (type['listType'] ?? {}) as { elemType?: Readonly<Record<string, unknown>> };
  const { keyType, valueType } = (type['mapType'] ?? {}) as { keyType?: Readonly<Record<string, unknown>>; valueType?: Readonly<Record<string, unknown>> };
  const element = elemType && typeOfSuite(elemType);
  if (element !== undefined) return listOf(element);
  const key = keyType && typeOfSuite(keyType);
  const value = valueType && typeOfSuite(valueType);
  return key === undefined || value === undefined ? undefined : mapOf(key, value);
}
