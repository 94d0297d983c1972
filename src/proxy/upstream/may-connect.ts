import { readAddress } from './address.ts';
import { isForbidden, isPublic } from './address-guard.ts';
import type { PrivateUpstreams } from './private-upstreams.ts';
import { metadataNames } from './resolve.ts';

/** Whether the upstream leg would dial this address for this name, whatever the port: what it would not dial is no answer to a lookup either. */
export function createMayConnect(allowed: PrivateUpstreams): (address: string, name: string) => boolean {
  return (text, name) => {
    const address = metadataNames.has(name) ? undefined : readAddress(text);
    return address !== undefined && !isForbidden(address) && (isPublic(address) || allowed.allows(name, address));
  };
}
