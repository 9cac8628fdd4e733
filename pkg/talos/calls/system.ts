import { Empty } from '../../../proto/generated/google/protobuf/empty.ts';
import { MachineServiceService, RebootRequest, RebootRequest_Mode } from '../../../proto/generated/talos/machine.ts';
import { isTalosError } from '../errors.ts';
import type { CallOptions, MachineTime, TalosMachine } from '../machine.ts';
import { BOOT_ID } from '../resources/machine.ts';
import { TransportFailure } from '../transport/failure.ts';
import { type CallContext, only } from './context.ts';
import type { FileCalls } from './files.ts';
import type { ResourceCalls } from './resources.ts';

const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';
const UPTIME_FILE = '/proc/uptime';

/** Version, clock, boot ID and reboot. */
export function createSystemCalls(
  { invoker, deadlines, now }: CallContext,
  { resources, files }: { readonly resources: ResourceCalls; readonly files: FileCalls },
): Pick<TalosMachine, 'version' | 'time' | 'reboot' | 'bootId'> {
  /**
   * The clock, from the kernel's boot time (whole seconds) and its age: Talos's own
   * call asks an NTP server first, which may be out of reach.
   */
  async function kernelTime(options: CallOptions | undefined): Promise<MachineTime> {
    const kind = { call: 'SystemStat', deadlineMs: deadlines.readMs };
    const reply = await invoker.unary(MachineServiceService.systemStat, Empty.create(), kind, options);
    const { bootTime } = only(invoker, kind, reply.messages);
    const sentAt = now();
    const uptime = await files.readFile(UPTIME_FILE, options);
    const receivedAt = now();
    const seconds = Number.parseFloat(uptime.toString('latin1'));
    if (!Number.isFinite(seconds)) {
      throw invoker.failure(kind, new TransportFailure('malformed', 'not-done', `${UPTIME_FILE} holds no number`));
    }
    return { remote: Number(bootTime) * 1000 + seconds * 1000, sentAt, receivedAt };
  }

  return {
    async version(options) {
      const kind = { call: 'Version', deadlineMs: deadlines.readMs };
      const reply = await invoker.unary(MachineServiceService.version, Empty.create(), kind, options);
      const { version, platform, features } = only(invoker, kind, reply.messages);
      return {
        tag: version?.tag ?? '',
        arch: version?.arch ?? '',
        platform: platform?.name ?? '',
        mode: platform?.mode ?? '',
        rbac: features?.rbac ?? false,
      };
    },

    time: kernelTime,

    async reboot(mode, options) {
      const kind = { call: `Reboot ${mode}`, deadlineMs: deadlines.changeMs, change: true };
      const request = RebootRequest.fromPartial({ mode: RebootRequest_Mode[mode] });
      const reply = await invoker.unary(MachineServiceService.reboot, request, kind, options);
      return { actorId: only(invoker, kind, reply.messages).actorId };
    },

    async bootId(options) {
      const found = await resources.get(BOOT_ID, options).catch((error: unknown) => {
        // Before 1.14 there is no such type.
        if (isTalosError(error, 'unsupported')) return undefined;
        throw error;
      });
      if (found !== undefined && found.spec.bootId !== '') return found.spec.bootId;
      const file = await files.readFile(BOOT_ID_FILE, options);
      return file.toString('latin1').trim();
    },
  };
}
