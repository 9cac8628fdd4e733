import { GetRequest, StateService } from '../../../proto/generated/cosi/resource.ts';
import {
  ApplyConfigurationRequest,
  ApplyConfigurationRequest_Mode,
  MachineServiceService,
} from '../../../proto/generated/talos/machine.ts';
import { MachineConfigSpec } from '../../../proto/generated/talos/resources/config.ts';
import { Secret } from '../../pki/index.ts';
import type { ApplyMode, ApplyResult, ConfigurationKind, TalosMachine } from '../machine.ts';
import { TransportFailure } from '../transport/failure.ts';
import { type CallContext, duration, only } from './context.ts';

const TYPE = 'MachineConfigs.config.talos.dev';
const IDS: Readonly<Record<ConfigurationKind, string>> = { active: 'v1alpha1', persistent: 'persistent' };
const MODES = Object.fromEntries(
  Object.entries(ApplyConfigurationRequest_Mode).map(([name, value]) => [value, name as ApplyMode]),
);

/** Reading and applying the machine configuration. */
export function createConfigurationCalls({
  invoker,
  deadlines,
}: CallContext): Pick<TalosMachine, 'configuration' | 'apply'> {
  return {
    async configuration(which, options) {
      const kind = { call: `Get ${TYPE}/${IDS[which]}`, deadlineMs: deadlines.readMs };
      const request = GetRequest.fromPartial({ namespace: 'config', type: TYPE, id: IDS[which] });
      const reply = await invoker.unary(StateService.get, request, kind, options);
      try {
        const { yamlMarshalled } = MachineConfigSpec.decode(reply.resource?.spec?.protoSpec ?? Buffer.alloc(0));
        // Strict and with a byte order mark kept: the text must encode to the same bytes again.
        const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(yamlMarshalled);
        return { config: Secret.of('machine-config', text), version: BigInt(reply.resource?.metadata?.version ?? '') };
      } catch {
        // Without the cause, which may quote the configuration.
        throw invoker.failure(
          kind,
          new TransportFailure('malformed', 'not-done', 'the configuration is not readable text'),
        );
      }
    },

    async apply(request, options) {
      const kind = { call: 'ApplyConfiguration', deadlineMs: deadlines.changeMs, change: true };
      const message = ApplyConfigurationRequest.fromPartial({
        data: Buffer.from(request.config.expose(), 'utf8'),
        mode: ApplyConfigurationRequest_Mode[request.mode],
        dryRun: request.dryRun ?? false,
        ...(request.tryTimeoutMs !== undefined && { tryModeTimeout: duration(request.tryTimeoutMs) }),
      });
      const reply = await invoker.unary(MachineServiceService.applyConfiguration, message, kind, options);
      const { mode, warnings, modeDetails } = only(invoker, kind, reply.messages);
      return { mode: MODES[mode] ?? request.mode, warnings, ...readDetails(modeDetails, request.dryRun ?? false) };
    },
  };
}

/** The difference that a dry run prints is unredacted, private keys included: only whether there is one is kept. */
function readDetails(details: string, dryRun: boolean): Pick<ApplyResult, 'details' | 'changes'> {
  if (!dryRun) return { details: details.trim() };
  const [summary = '', difference = ''] = details.split(/^Config diff:\s*$/m);
  return { details: summary.trim(), changes: difference.trim() !== 'No changes.' };
}
