import type { Access } from '../access.ts';
import { type CaHome, readCaHome } from '../ca-home.ts';
import { machineOf } from '../role.ts';
import { legacyShape } from '../shapes/legacy.ts';
import { caTarget } from './ca.ts';

/** The CA of the Talos API: `machine.ca` and `machine.acceptedCAs`, in every version; workers have its certificate only. */
export const talos = caTarget({ homeOf: talosHome });

/** Where the Talos CA lives. */
export function talosHome(access: Access): CaHome {
  return access.once('talos', () =>
    readCaHome(access, {
      shape: legacyShape,
      map: machineOf(access),
      path: 'machine',
      issuingKey: 'ca',
      acceptedKey: 'acceptedCAs',
    }),
  );
}
